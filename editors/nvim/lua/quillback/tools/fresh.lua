-- Whether the language servers have said what they think of the present text of a buffer.

local async = require("quillback.async")

local M = {}

local WAIT_MS = 2000
local POLL_MS = 30
local PUBLISH = "textDocument/publishDiagnostics"
local PULL = "textDocument/diagnostic"

-- By buffer and client: the version that was published last. Servers that tell none are taken to mean the present one.
local published = {}

local function note(params, client_id)
  local buffer = vim.fn.bufnr(vim.uri_to_fname(params.uri))
  if buffer ~= -1 then
    published[buffer] = published[buffer] or {}
    published[buffer][client_id] = params.version or vim.lsp.util.buf_versions[buffer]
  end
end

--- Once: listens to what servers publish, before the editor's own handler has it.
function M.watch()
  local handle = vim.lsp.handlers[PUBLISH]
  vim.lsp.handlers[PUBLISH] = function(problem, params, context, ...)
    if params and params.uri then
      pcall(note, params, context.client_id)
    end
    return handle(problem, params, context, ...)
  end
end

--- Inside async: asks a server that is asked for diagnostics, and has the editor show them.
local function pull(client, buffer)
  async.await(function(resume)
    local params = { textDocument = { uri = vim.uri_from_bufnr(buffer) } }
    client:request(PULL, params, function(...)
      vim.lsp.handlers[PULL](...)
      resume()
    end, buffer)
    vim.defer_fn(resume, WAIT_MS)
  end)
end

local function is_current(client, buffer)
  local version = (published[buffer] or {})[client.id]
  return version ~= nil and version >= vim.lsp.util.buf_versions[buffer]
end

--- Inside async: waits for the servers of a buffer, two seconds at most. Gives whether all have seen the present text.
function M.wait(buffer)
  local open = {}
  for _, client in ipairs(vim.lsp.get_clients({ bufnr = buffer })) do
    if client:supports_method(PULL) then
      pull(client, buffer)
    else
      table.insert(open, client)
    end
  end
  local waited = 0
  while true do
    local late = vim.iter(open):any(function(client)
      return not is_current(client, buffer)
    end)
    if not late or waited >= WAIT_MS then
      return not late
    end
    async.sleep(POLL_MS)
    waited = waited + POLL_MS
  end
end

return M
