-- Keeps a buffer in step with a transcript. Changes are gathered and drawn together, some thirty times a second.
--
-- `entry.row` and `entry.height` say where an entry is; the last of its lines is empty.

local config = require("quillback.config")
local render = require("quillback.render")

local api = vim.api
local namespace = api.nvim_create_namespace("quillback")

local View = {}
View.__index = View

local M = {}

-- Views by buffer, for the fold expression.
local views = {}

function M.new(buffer)
  local self = setmetatable({ buffer = buffer, rows = 0, drawn = {}, changed_entries = {}, grown = {} }, View)
  views[buffer] = self
  api.nvim_create_autocmd("BufWipeout", {
    buffer = buffer,
    callback = function()
      views[buffer] = nil
    end,
  })
  return self
end

-- ---------------------------------------------------------------- what a transcript tells

function View:changed(entry)
  self.changed_entries[entry] = true
  self:_plan()
end

function View:grew(entry, text)
  if entry.row and not self.changed_entries[entry] then
    local pieces = self.grown[entry] or {}
    table.insert(pieces, text)
    self.grown[entry] = pieces
    self:_plan()
  end
end

function View:cleared()
  for _, entry in ipairs(self.drawn) do
    entry.row = nil
  end
  self.rows, self.drawn, self.changed_entries, self.grown = 0, {}, {}, {}
  self:_edit(function()
    api.nvim_buf_clear_namespace(self.buffer, namespace, 0, -1)
    api.nvim_buf_set_lines(self.buffer, 0, -1, false, {})
  end)
end

-- ---------------------------------------------------------------- drawing

function View:_plan()
  if self.planned then
    return
  end
  self.planned = true
  -- A slow redraw gives the user at least three times its length in between.
  local pause = math.max(config.get().flush_ms, 3 * (self.last_took or 0))
  vim.defer_fn(function()
    self.planned = false
    self:flush()
  end, math.ceil(pause))
end

function View:flush()
  if not api.nvim_buf_is_valid(self.buffer) then
    return
  end
  local started = vim.uv.hrtime()
  local entries = vim.tbl_keys(self.changed_entries)
  for entry in pairs(self.grown) do
    if not self.changed_entries[entry] then
      table.insert(entries, entry)
    end
  end
  table.sort(entries, function(a, b)
    return a.index < b.index
  end)
  local whole, grown = self.changed_entries, self.grown
  self.changed_entries, self.grown = {}, {}
  local following = self:_following()
  self:_edit(function()
    for _, entry in ipairs(entries) do
      if whole[entry] or not entry.row then
        self:_draw(entry)
      else
        self:_append(entry, table.concat(grown[entry]))
      end
    end
  end)
  for _, window in ipairs(following) do
    api.nvim_win_set_cursor(window, { math.max(self.rows, 1), 0 })
  end
  self.last_took = (vim.uv.hrtime() - started) / 1e6
end

function View:_edit(change)
  local options = vim.bo[self.buffer]
  options.modifiable = true
  change()
  options.modifiable = false
  options.modified = false
end

--- The windows whose cursor is at the end: they stay there.
function View:_following()
  return vim.tbl_filter(function(window)
    return api.nvim_win_get_cursor(window)[1] >= self.rows - 1
  end, vim.fn.win_findbuf(self.buffer))
end

--- Rows are moved before the buffer changes: folds are worked out while it does.
function View:_shift(entry, height)
  local by = height - (entry.height or 0)
  entry.height = height
  self.rows = self.rows + by
  if by ~= 0 then
    for at = entry.place + 1, #self.drawn do
      self.drawn[at].row = self.drawn[at].row + by
    end
  end
end

local function refold(entry, windows)
  if not render.folds(entry) or entry.height <= 2 then
    return
  end
  for _, window in ipairs(windows) do
    api.nvim_win_call(window, function()
      if vim.fn.foldclosed(entry.row + 1) == -1 and vim.fn.foldlevel(entry.row + 1) > 0 then
        vim.cmd(("silent! %dfoldclose"):format(entry.row + 1))
      end
    end)
  end
end

function View:_draw(entry)
  local lines, marks = render.entry(entry)
  local fresh = not entry.row
  if fresh then
    entry.row, entry.height = self.rows, 0
    table.insert(self.drawn, entry)
    entry.place = #self.drawn
  end
  local first, last = entry.row, entry.row + entry.height
  local was_empty = self.rows == 0
  local closed = not fresh and self:_closed_folds(entry)
  self:_shift(entry, #lines)
  api.nvim_buf_clear_namespace(self.buffer, namespace, first, last)
  api.nvim_buf_set_lines(self.buffer, first, was_empty and -1 or last, false, lines)
  entry.tail = #(lines[#lines - 1] or "")
  for _, mark in ipairs(marks) do
    local options = { line_hl_group = mark[2] }
    api.nvim_buf_set_extmark(self.buffer, namespace, first + mark[1], 0, options)
  end
  if closed then
    refold(entry, closed)
  end
end

--- Windows in which an entry is folded and shown closed, so that a redraw leaves it so.
function View:_closed_folds(entry)
  local row = entry.row + 1
  return vim.tbl_filter(function(window)
    return api.nvim_win_call(window, function()
      return vim.fn.foldclosed(row) ~= -1
    end)
  end, vim.fn.win_findbuf(self.buffer))
end

function View:_append(entry, text)
  local pieces = vim.split(text, "\n", { plain = true })
  local row = entry.row + entry.height - 2
  local column = entry.tail
  self:_shift(entry, entry.height + #pieces - 1)
  api.nvim_buf_set_text(self.buffer, row, column, row, column, pieces)
  entry.tail = #pieces[#pieces] + (#pieces == 1 and column or 0)
end

-- ---------------------------------------------------------------- places

--- The entry at a line, 1-based.
function View:entry_at(line)
  local low, high = 1, #self.drawn
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if self.drawn[middle].row <= line - 1 then
      low = middle
    else
      high = middle - 1
    end
  end
  return self.drawn[low]
end

--- For 'foldexpr'.
function M.fold(line)
  local self = views[api.nvim_get_current_buf()]
  local entry = self and self:entry_at(line)
  if not entry or not render.folds(entry) or entry.height <= 2 then
    return "0"
  end
  local offset = line - 1 - entry.row
  if offset == 0 then
    return ">1"
  end
  return offset < entry.height - 1 and "1" or "0"
end

--- Shows what is said below the end, such as queued prompts, without being part of the text.
function View:footer(lines)
  api.nvim_buf_clear_namespace(self.buffer, M.footer_namespace, 0, -1)
  if #lines > 0 then
    local shown = vim.tbl_map(function(line)
      return { { line, "QuillbackHint" } }
    end, lines)
    local last = api.nvim_buf_line_count(self.buffer) - 1
    api.nvim_buf_set_extmark(self.buffer, M.footer_namespace, last, 0, { virt_lines = shown })
  end
end

M.footer_namespace = api.nvim_create_namespace("quillback.footer")

return M
