-- @path and @symbol in prompts: what there is to mention, and what is sent for it.

local config = require("quillback.config")

local M = {}

local MOST_FILES = 20000
local MOST_SHOWN = 50
local STALE_MS = 10000

local cache = { files = {}, at = nil, root = nil }
-- Where the symbols are that were offered, by name.
local symbols = {}

local function keep(root, files)
  cache = { files = vim.list_slice(files, 1, MOST_FILES), at = vim.uv.now(), root = root }
end

local function walk(root)
  local found = {}
  for name, kind in vim.fs.dir(root, { depth = 8, skip = function(directory)
    return not vim.startswith(vim.fs.basename(directory), ".") and vim.fs.basename(directory) ~= "node_modules"
  end }) do
    if kind == "file" then
      table.insert(found, name)
    end
    if #found >= MOST_FILES then
      break
    end
  end
  return found
end

--- The files below the root; callback(list of relative paths).
function M.files(callback)
  local root = config.root()
  if cache.root == root and vim.uv.now() - cache.at < STALE_MS then
    return callback(cache.files)
  end
  local command = { "git", "ls-files", "--cached", "--others", "--exclude-standard", "-z" }
  local ok = pcall(vim.system, command, { cwd = root }, vim.schedule_wrap(function(done)
    keep(root, done.code == 0 and vim.split(done.stdout, "\0", { trimempty = true }) or walk(root))
    callback(cache.files)
  end))
  if not ok then
    keep(root, walk(root))
    callback(cache.files)
  end
end

--- Asks the language servers for symbols; callback(list of {name, kind, location}).
function M.symbols(query, callback)
  local clients = vim.lsp.get_clients({ method = "workspace/symbol" })
  local open = #clients
  if open == 0 or #query < 2 then
    return callback({})
  end
  local found = {}
  for _, client in ipairs(clients) do
    client:request("workspace/symbol", { query = query }, function(_, result)
      vim.list_extend(found, result or {})
      open = open - 1
      if open == 0 then
        callback(found)
      end
    end)
  end
end

local function rank(path, query)
  local name = vim.fs.basename(path):lower()
  if vim.startswith(name, query) then
    return 1
  end
  return name:find(query, 1, true) and 2 or 3
end

local function matching(files, query)
  local low = query:lower()
  local found = vim.tbl_filter(function(path)
    return path:lower():find(low, 1, true) ~= nil
  end, files)
  table.sort(found, function(a, b)
    local first, second = rank(a, low), rank(b, low)
    if first ~= second then
      return first < second
    end
    return #a == #b and a < b or #a < #b
  end)
  return vim.list_slice(found, 1, MOST_SHOWN)
end

--- What can be mentioned under a beginning; callback(items of vim's completion).
function M.complete(query, callback)
  M.files(function(files)
    M.symbols(query, function(found)
      local items = vim.tbl_map(function(path)
        return { word = "@" .. path, abbr = path, menu = "file" }
      end, matching(files, query))
      for _, symbol in ipairs(vim.list_slice(found, 1, MOST_SHOWN)) do
        symbols[symbol.name] = symbol
        local kind = vim.lsp.protocol.SymbolKind[symbol.kind] or "Symbol"
        table.insert(items, { word = "@" .. symbol.name, abbr = symbol.name, menu = kind:lower() })
      end
      callback(items)
    end)
  end)
end

local function file_block(path)
  local absolute = vim.startswith(path, "/") and path or vim.fs.joinpath(config.root(), path)
  local found = vim.uv.fs_stat(absolute)
  if found and (found.type == "file" or found.type == "directory") then
    return { type = "resource_link", uri = vim.uri_from_fname(absolute), name = path }
  end
end

local function symbol_block(name)
  local symbol = symbols[name]
  local location = symbol and symbol.location
  if not (location and location.uri) then
    return nil
  end
  local first = location.range and location.range.start.line or 0
  local last = location.range and location.range["end"].line or first
  local text = require("quillback.files").read(vim.uri_to_fname(location.uri)) or ""
  local lines = vim.list_slice(vim.split(text, "\n", { plain = true }), first + 1, math.max(last, first + 20) + 1)
  return {
    type = "resource",
    resource = {
      uri = ("%s#L%d"):format(location.uri, first + 1),
      mimeType = "text/plain",
      text = ("The symbol %s is here:\n%s"):format(name, table.concat(lines, "\n")),
    },
  }
end

--- The blocks for what a prompt mentions, each once.
function M.blocks(text)
  local out, seen = {}, {}
  for word in (" " .. text):gmatch("%s@(%S+)") do
    local name = word
    local block = file_block(name) or symbol_block(name)
    if not block then
      -- The end of a sentence is no part of a name.
      name = word:gsub("[%.,;:!%?%)]+$", "")
      block = file_block(name) or symbol_block(name)
    end
    if block and not seen[name] then
      seen[name] = true
      table.insert(out, block)
    end
  end
  return out
end

return M
