-- What goes along with a prompt: the active file, the selection, the diagnostics. Each can be switched off.

local config = require("quillback.config")

local api = vim.api

local M = {}

M.KINDS = { "file", "selection", "diagnostics" }

local MOST_DIAGNOSTICS = 20
local SEVERITY = { "error", "warning", "info", "hint" }

local switched = {}
local active
local pinned

local function is_file(buffer)
  return api.nvim_buf_is_valid(buffer) and vim.bo[buffer].buftype == "" and api.nvim_buf_get_name(buffer) ~= ""
end

--- Remembers the file that the user was in last.
function M.watch()
  local group = api.nvim_create_augroup("quillback.context", {})
  local function note()
    local buffer = api.nvim_get_current_buf()
    if is_file(buffer) then
      active = { buffer = buffer, window = api.nvim_get_current_win() }
    end
  end
  api.nvim_create_autocmd({ "BufEnter", "WinEnter" }, { group = group, callback = note })
  note()
end

function M.is_on(kind)
  if switched[kind] ~= nil then
    return switched[kind]
  end
  return config.get().context[kind] ~= false
end

--- Switches a kind on or off; the other way round if `on` is nil.
function M.switch(kind, on)
  if on == nil then
    on = not M.is_on(kind)
  end
  switched[kind] = on
end

--- The buffer and window of the file that the user was in last; nil where there is none any more.
function M.active()
  if active and is_file(active.buffer) then
    return active.buffer, api.nvim_win_is_valid(active.window) and active.window or nil
  end
end

--- Keeps lines `first` to `last` of a buffer as the selection of the next prompt.
function M.pin(buffer, first, last)
  if is_file(buffer) then
    pinned = { buffer = buffer, first = first, last = last }
  end
end

function M.unpin()
  pinned = nil
end

function M.pinned()
  return pinned and is_file(pinned.buffer) and pinned or nil
end

local function resource(buffer, fragment, text)
  local uri = vim.uri_from_fname(api.nvim_buf_get_name(buffer)) .. fragment
  return { type = "resource", resource = { uri = uri, mimeType = "text/plain", text = text } }
end

local blocks = {}

function blocks.file()
  local buffer, window = M.active()
  if not buffer then
    return nil
  end
  local line = window and api.nvim_win_get_buf(window) == buffer and api.nvim_win_get_cursor(window)[1] or 1
  local unsaved = vim.bo[buffer].modified and ", with unsaved changes" or ""
  local text = ("The user has this file open, the cursor is in line %d%s."):format(line, unsaved)
  return resource(buffer, ("#L%d"):format(line), text)
end

function blocks.selection()
  local selection = M.pinned()
  if not selection then
    return nil
  end
  local lines = api.nvim_buf_get_lines(selection.buffer, selection.first - 1, selection.last, false)
  local fragment = ("#L%d-L%d"):format(selection.first, selection.last)
  return resource(selection.buffer, fragment, "The user selected these lines:\n" .. table.concat(lines, "\n"))
end

--- One diagnostic as a line of text.
function M.diagnostic_line(item)
  local source = item.source and (" [%s]"):format(item.source) or ""
  return ("%d:%d %s%s: %s"):format(
    item.lnum + 1,
    item.col + 1,
    SEVERITY[item.severity] or "info",
    source,
    (item.message:gsub("\n", " "))
  )
end

function blocks.diagnostics()
  local buffer = M.active()
  local found = buffer and vim.diagnostic.get(buffer, { severity = { min = vim.diagnostic.severity.WARN } }) or {}
  if #found == 0 then
    return nil
  end
  local lines = vim.tbl_map(M.diagnostic_line, vim.list_slice(found, 1, MOST_DIAGNOSTICS))
  if #found > MOST_DIAGNOSTICS then
    table.insert(lines, ("... and %d more"):format(#found - MOST_DIAGNOSTICS))
  end
  return resource(buffer, "#diagnostics", "Diagnostics of the file:\n" .. table.concat(lines, "\n"))
end

--- The blocks for the next prompt.
function M.blocks()
  local out = {}
  for _, kind in ipairs(M.KINDS) do
    local block = M.is_on(kind) and blocks[kind]()
    if block then
      table.insert(out, block)
    end
  end
  return out
end

return M
