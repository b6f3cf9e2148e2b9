-- The tools that the editor runs for the agent: declared to the server, called by it, answered here.

local async = require("quillback.async")
local config = require("quillback.config")

local M = {}

function M.declarations()
  return require("quillback.tools.declared")
end

local function implementation(name)
  for _, module in ipairs({ "quillback.tools.read", "quillback.tools.change", "quillback.tools.buffers" }) do
    local found = require(module)[name]
    if found then
      return found
    end
  end
end

--- An absolute path for one of the model's. Raises an error for what is no path.
function M.path(session, path)
  if type(path) ~= "string" or path == "" then
    async.fail("a path is missing")
  end
  local absolute = vim.startswith(path, "/") and path or vim.fs.joinpath(session.cwd or config.root(), path)
  return vim.fs.normalize(absolute)
end

--- Handles _quillback/tool/call. An implementation gets (arguments, job) and gives a text and, if it
-- likes, locations and structured content.
function M.call(session, params, reply, call)
  local work = implementation(params.name)
  if not work then
    return reply(nil, { code = -32602, message = "the editor has no tool " .. tostring(params.name) })
  end
  local entry = session.transcript:tool({ toolCallId = params.toolCallId })
  local job = { session = session, entry = entry, name = params.name }
  call.on_cancel = function()
    entry.withdrawn = true
    if entry.question then
      entry.question.withdraw()
    end
  end
  async.run(function()
    local text, locations, structured = work(params.arguments or {}, job)
    return { text = text, locations = locations, structured = structured }
  end, function(problem, done)
    if problem then
      return reply({ content = { { type = "text", text = problem } }, isError = true })
    end
    reply({
      content = { { type = "text", text = done.text } },
      locations = done.locations,
      structuredContent = done.structured,
    })
  end)
end

return M
