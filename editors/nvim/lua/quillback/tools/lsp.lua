-- Requests to the language servers of the editor, and what their answers look like as text.

local async = require("quillback.async")
local files = require("quillback.files")

local M = {}

local ATTACH_MS = 3000
local START_MS = 1500
local POLL_MS = 50
local ANSWER_MS = 30000

--- Inside async: where a buffer was opened a moment ago, gives a server for it the time to start.
function M.attached(buffer)
  while #vim.lsp.get_clients({ bufnr = buffer }) == 0 and files.age(buffer) < START_MS do
    async.sleep(POLL_MS)
  end
end

--- Inside async: the buffer of a path and a server for it that knows a method. A file that was not open is opened, and
--- its server has a moment to start.
function M.client(path, method)
  if not files.loaded(path) and not vim.uv.fs_stat(path) then
    async.fail(path .. ": there is no such file")
  end
  local buffer = files.load(path)
  local waited = 0
  while true do
    local client = vim.lsp.get_clients({ bufnr = buffer, method = method })[1]
    if client then
      return buffer, client
    end
    if waited >= ATTACH_MS then
      break
    end
    async.sleep(POLL_MS)
    waited = waited + POLL_MS
  end
  local some = #vim.lsp.get_clients({ bufnr = buffer }) > 0
  async.fail(some and ("no language server of this file can do " .. method) or "this file has no language server")
end

--- Inside async: the answer to a request. Ends the job with the server's words if it refuses.
function M.request(client, method, params, buffer)
  local problem, result = async.await(function(resume)
    local sent, id = client:request(method, params, resume, buffer)
    if not sent then
      return resume({ message = "the language server is gone" })
    end
    vim.defer_fn(function()
      resume({ message = "the language server did not answer in time" })
      if id and client.requests[id] then
        client:cancel_request(id)
      end
    end, ANSWER_MS)
  end)
  if problem then
    async.fail(("%s: %s"):format(client.name, problem.message or vim.inspect(problem)))
  end
  return result
end

local function line_text(buffer, line)
  local text = vim.api.nvim_buf_get_lines(buffer, line - 1, line, false)[1]
  if not text then
    async.fail(("there is no line %d; the file has %d"):format(line, vim.api.nvim_buf_line_count(buffer)))
  end
  return text
end

--- The column, 0-based in bytes, where a name stands as a word of its own.
local function column_of(text, symbol)
  local from = 1
  while true do
    local first, last = text:find(symbol, from, true)
    if not first then
      async.fail(("%q is not in that line: %s"):format(symbol, vim.trim(text)))
    end
    local alone = not (text:sub(first - 1, first - 1) .. text:sub(last + 1, last + 1)):find("[%w_]")
    if alone or not text:find(symbol, last + 1, true) then
      return first - 1
    end
    from = last + 1
  end
end

--- Inside async: textDocument and position for the place `{line, symbol}`.
function M.position(buffer, client, place)
  local text = line_text(buffer, place.line)
  local column = column_of(text, place.symbol)
  return {
    textDocument = { uri = vim.uri_from_bufnr(buffer) },
    position = { line = place.line - 1, character = vim.str_utfindex(text, client.offset_encoding, column) },
  }
end

--- Whole lines `first` to `last`, 1-based, as a range.
function M.range(buffer, client, first, last)
  last = math.min(last or first, vim.api.nvim_buf_line_count(buffer))
  local text = line_text(buffer, last)
  return {
    start = { line = first - 1, character = 0 },
    ["end"] = { line = last - 1, character = vim.str_utfindex(text, client.offset_encoding, #text) },
  }
end

--- A list of Location and LocationLink as lines of text and the protocol's locations.
function M.places(found, root)
  if found and (found.uri or found.targetUri) then
    found = { found }
  end
  local lines, locations, texts = {}, {}, {}
  for _, item in ipairs(found or {}) do
    local uri, range = item.uri or item.targetUri, item.range or item.targetSelectionRange
    local path = vim.uri_to_fname(uri)
    texts[path] = texts[path] or vim.split(files.read(path) or "", "\n", { plain = true })
    local line = range.start.line + 1
    local short = vim.fs.relpath(root, path) or path
    table.insert(lines, ("%s:%d: %s"):format(short, line, vim.trim(texts[path][line] or "")))
    table.insert(locations, { path = path, line = line })
  end
  return lines, locations
end

-- ---------------------------------------------------------------- workspace edits

local function edited(text, edits, encoding)
  local buffer = vim.api.nvim_create_buf(false, true)
  local ends = text:sub(-1) == "\n"
  local body = ends and text:sub(1, -2) or text
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, vim.split(body, "\n", { plain = true }))
  vim.bo[buffer].endofline = ends
  local ok, problem = pcall(vim.lsp.util.apply_text_edits, edits, buffer, encoding)
  local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, true)
  vim.api.nvim_buf_delete(buffer, { force = true })
  if not ok then
    async.fail("the language server's edit does not fit: " .. tostring(problem))
  end
  return table.concat(lines, "\n") .. (ends and "\n" or "")
end

--- What a WorkspaceEdit changes, as `{path, old, new}`. Files that it would move or delete are refused.
function M.changes(edit, encoding)
  local by_uri, order, fresh = {}, {}, {}
  local function add(uri, edits)
    if not by_uri[uri] then
      by_uri[uri] = {}
      table.insert(order, uri)
    end
    vim.list_extend(by_uri[uri], edits)
  end
  for _, change in ipairs(edit.documentChanges or {}) do
    if change.kind == "create" then
      fresh[change.uri] = true
      add(change.uri, {})
    elseif change.kind then
      async.fail(("the edit would %s a file, which is not done here"):format(change.kind))
    else
      add(change.textDocument.uri, change.edits)
    end
  end
  if not edit.documentChanges then
    for uri, edits in vim.spairs(edit.changes or {}) do
      add(uri, edits)
    end
  end
  return vim.tbl_map(function(uri)
    local path = vim.uri_to_fname(uri)
    local old = files.read(path)
    if not old and not fresh[uri] then
      async.fail(path .. ": there is no such file")
    end
    return { path = path, old = old, new = edited(old or "", by_uri[uri], encoding) }
  end, order)
end

return M
