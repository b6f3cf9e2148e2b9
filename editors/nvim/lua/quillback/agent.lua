-- The one server process of this editor: started with the first session, shared by all of them.

local config = require("quillback.config")
local rpc = require("quillback.rpc")

local M = {
  -- stopped, starting or ready
  state = "stopped",
  -- Open sessions by id.
  sessions = {},
  -- What the server said of itself when it started.
  info = nil,
  -- How many servers this editor has started.
  started = 0,
}

local connection
local waiters = {}
local stopping = false

local function capabilities()
  local tools = config.get().frontend_tools and require("quillback.tools").declarations() or nil
  return {
    fs = { readTextFile = true, writeTextFile = true },
    terminal = false,
    session = { notices = vim.empty_dict(), compaction = vim.empty_dict() },
    elicitation = { form = vim.empty_dict() },
    _meta = { ["quillback.dev"] = { messageIds = true, sessionFork = true, frontendTools = tools } },
  }
end

local function of_session(handle)
  return function(params, reply, call)
    local session = M.sessions[params.sessionId]
    if not session then
      return reply(nil, { code = -32602, message = "this session is not open in the editor" })
    end
    handle(session, params, reply, call)
  end
end

local requests = {
  ["session/request_permission"] = of_session(function(session, params, reply, call)
    require("quillback.permission").ask(session, params, reply, call)
  end),
  ["elicitation/create"] = of_session(function(session, params, reply, call)
    require("quillback.form").ask(session, params, reply, call)
  end),
  ["fs/read_text_file"] = of_session(function(_, params, reply)
    require("quillback.files").serve_read(params, reply)
  end),
  ["fs/write_text_file"] = of_session(function(session, params, reply)
    require("quillback.files").serve_write(session, params, reply)
  end),
  ["_quillback/tool/call"] = of_session(function(session, params, reply, call)
    require("quillback.tools").call(session, params, reply, call)
  end),
}

local notifications = {
  ["session/update"] = function(params)
    local session = M.sessions[params.sessionId]
    if session then
      session:updated(params.update or {})
    end
  end,
}

local function settle(problem)
  local list = waiters
  waiters = {}
  for _, callback in ipairs(list) do
    callback(problem)
  end
end

--- What to tell the user of a server that ended by itself.
local function epitaph(code, signal, stderr)
  local how = signal ~= 0 and ("was killed by signal %d"):format(signal) or ("ended with exit code %d"):format(code)
  local text = ("The Quillback server %s. :QuillbackRestart starts it again and resumes the session."):format(how)
  local last = vim.trim(stderr):match("[^\n]*$")
  return last ~= "" and text .. "\nIts last words: " .. last or text
end

local function ended(code, signal, stderr)
  connection = nil
  M.state = "stopped"
  local asked = stopping
  stopping = false
  local text = asked and "The Quillback server was stopped." or epitaph(code, signal, stderr)
  settle({ message = text })
  for _, session in pairs(M.sessions) do
    session:lost(text)
  end
  if not asked then
    vim.notify(text, vim.log.levels.ERROR, { title = "Quillback" })
  end
end

local function refused(problem)
  local command = table.concat(config.get().command, " ")
  return {
    message = ("The Quillback server could not be started with `%s`: %s\n"):format(command, problem)
      .. "Install it, or name it in full: require('quillback').setup({ command = { '/path/to/quillback', 'acp' } }). "
      .. ":checkhealth quillback tells more.",
  }
end

--- Starts the server where it does not run; callback(error) once it is ready.
function M.ensure(callback)
  if M.state == "ready" then
    return callback(nil)
  end
  table.insert(waiters, callback)
  if M.state == "starting" then
    return
  end
  M.state = "starting"
  local problem
  local options = config.get()
  connection, problem = rpc.start({
    command = options.command,
    cwd = config.root(),
    env = options.env,
    requests = requests,
    notifications = notifications,
    on_exit = ended,
  })
  if not connection then
    M.state = "stopped"
    return vim.schedule(function()
      settle(refused(problem))
    end)
  end
  M.started = M.started + 1
  local params = {
    protocolVersion = 1,
    clientCapabilities = capabilities(),
    clientInfo = { name = "quillback.nvim", title = "Neovim", version = "0.1.0" },
  }
  connection:request("initialize", params, function(refusal, result)
    if refusal and refusal.ended then
      return -- `ended` tells why
    elseif refusal then
      M.stop()
      return settle(refusal)
    end
    M.info = result
    M.state = "ready"
    settle(nil)
  end)
end

--- Whether the server serves a method of Quillback's own.
function M.serves(method)
  local capability = M.info and M.info.agentCapabilities or {}
  local ours = (capability._meta or {})["quillback.dev"] or {}
  return vim.tbl_contains(ours.methods or {}, method)
end

function M.request(method, params, callback)
  if not connection then
    return callback({ message = "The Quillback server is not running; :QuillbackRestart starts it." })
  end
  return connection:request(method, params, callback)
end

function M.notify(method, params)
  if connection then
    connection:notify(method, params)
  end
end

function M.pid()
  return connection and connection:pid()
end

function M.stop()
  if connection then
    stopping = true
    connection:stop()
  end
end

--- Stops the server where it runs, starts it again, and has each open session resumed; callback(error).
function M.restart(callback)
  local function again()
    M.ensure(function(problem)
      if not problem then
        for _, session in ipairs(vim.tbl_values(M.sessions)) do
          session:resume()
        end
      end
      callback(problem)
    end)
  end
  if not connection then
    return again()
  end
  M.stop()
  local timer = assert(vim.uv.new_timer())
  timer:start(20, 20, function()
    if not connection and not timer:is_closing() then
      timer:close()
      vim.schedule(again)
    end
  end)
end

return M
