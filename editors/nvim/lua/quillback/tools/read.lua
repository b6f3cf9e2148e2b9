-- Tools that look: diagnostics and what language servers know.

local async = require("quillback.async")
local context = require("quillback.context")
local files = require("quillback.files")
local fresh = require("quillback.tools.fresh")
local lsp = require("quillback.tools.lsp")

local M = {}

local MOST = 200

local function tools()
  return require("quillback.tools")
end

local function listed(lines, none)
  if #lines == 0 then
    return none
  end
  local left = #lines - MOST
  local text = table.concat(vim.list_slice(lines, 1, MOST), "\n")
  return left > 0 and ("%s\n... and %d more"):format(text, left) or text
end

local function diagnostic_lines(buffer, root)
  local path = vim.api.nvim_buf_get_name(buffer)
  return vim.tbl_map(function(item)
    return ("%s:%s"):format(vim.fs.relpath(root, path) or path, context.diagnostic_line(item))
  end, vim.diagnostic.get(buffer))
end

--- Inside async: what the editor says of files that were just changed, as an addition to a result; empty for nothing.
function M.news_of(paths, root)
  local buffers = vim.tbl_filter(function(buffer)
    return buffer and #vim.lsp.get_clients({ bufnr = buffer }) > 0
  end, vim.tbl_map(function(path)
    return files.loaded(path) or false
  end, paths))
  if #buffers == 0 then
    return ""
  end
  local lines, current = {}, true
  for _, buffer in ipairs(buffers) do
    current = fresh.wait(buffer) and current
    vim.list_extend(lines, diagnostic_lines(buffer, root))
  end
  local text = #lines > 0 and "Diagnostics now:\n" .. listed(lines) or "The editor reports no problems in them."
  return "\n" .. text .. (current and "" or "\nThe language servers may not have seen all of the change yet.")
end

--- `wait`: for servers that have not seen the present text. `quiet`: say nothing where no one looks at the file.
local function of_file(buffer, root, wait, quiet)
  local current = true
  if wait then
    lsp.attached(buffer)
    current = fresh.wait(buffer)
  end
  local lines = diagnostic_lines(buffer, root)
  if quiet and #lines == 0 and #vim.lsp.get_clients({ bufnr = buffer }) == 0 then
    return "", nil, { upToDate = true }
  end
  return listed(lines, "No diagnostics in this file."), nil, { upToDate = current }
end

function M.diagnostics(arguments, job)
  local root = job.session.cwd
  local lines = {}
  if arguments.path then
    local path = tools().path(job.session, arguments.path)
    local known = files.loaded(path)
    if not known and not vim.uv.fs_stat(path) then
      async.fail(path .. ": there is no such file")
    end
    return of_file(files.load(path), root, arguments.afterEdit or not known, arguments.afterEdit)
  end
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buffer) then
      vim.list_extend(lines, diagnostic_lines(buffer, root))
    end
  end
  return listed(lines, "No diagnostics in the open files.")
end

local function find_places(method, more)
  return function(arguments, job)
    local buffer, client = lsp.client(tools().path(job.session, arguments.path), method)
    local params = vim.tbl_extend("error", lsp.position(buffer, client, arguments), more or {})
    local lines, locations = lsp.places(lsp.request(client, method, params, buffer), job.session.cwd)
    return listed(lines, "Nothing was found."), vim.list_slice(locations, 1, MOST)
  end
end

M.definition = find_places("textDocument/definition")
M.references = find_places("textDocument/references", { context = { includeDeclaration = true } })

function M.hover(arguments, job)
  local method = "textDocument/hover"
  local buffer, client = lsp.client(tools().path(job.session, arguments.path), method)
  local result = lsp.request(client, method, lsp.position(buffer, client, arguments), buffer)
  local lines = result and vim.lsp.util.convert_input_to_markdown_lines(result.contents) or {}
  return #lines > 0 and table.concat(lines, "\n") or "The language server knows nothing of it."
end

local function kind_name(symbol)
  return (vim.lsp.protocol.SymbolKind[symbol.kind] or "Symbol"):lower()
end

local function outline(symbols, depth, lines)
  for _, symbol in ipairs(symbols) do
    local range = symbol.selectionRange or symbol.range or symbol.location.range
    table.insert(lines, ("%s%d: %s %s"):format(("  "):rep(depth), range.start.line + 1, kind_name(symbol), symbol.name))
    outline(symbol.children or {}, depth + 1, lines)
  end
  return lines
end

function M.document_symbols(arguments, job)
  local method = "textDocument/documentSymbol"
  local buffer, client = lsp.client(tools().path(job.session, arguments.path), method)
  local params = { textDocument = { uri = vim.uri_from_bufnr(buffer) } }
  return listed(outline(lsp.request(client, method, params, buffer) or {}, 0, {}), "The file has no symbols.")
end

function M.workspace_symbols(arguments, job)
  local clients = vim.lsp.get_clients({ method = "workspace/symbol" })
  if #clients == 0 then
    async.fail("no language server that knows the workspace's symbols is running; open a file of that language")
  end
  local lines, locations = {}, {}
  for _, client in ipairs(clients) do
    for _, symbol in ipairs(lsp.request(client, "workspace/symbol", { query = arguments.query }) or {}) do
      local path = vim.uri_to_fname(symbol.location.uri)
      local line = symbol.location.range and symbol.location.range.start.line + 1 or 1
      local short = vim.fs.relpath(job.session.cwd, path) or path
      table.insert(lines, ("%s:%d: %s %s"):format(short, line, kind_name(symbol), symbol.name))
      table.insert(locations, { path = path, line = line })
    end
  end
  return listed(lines, "Nothing was found."), vim.list_slice(locations, 1, MOST)
end

return M
