-- A proposed change in a buffer of its own, to be accepted or rejected hunk by hunk.

local diff = require("quillback.diff")
local questions = require("quillback.questions")
local render = require("quillback.render")

local api = vim.api
local namespace = api.nvim_create_namespace("quillback.review")

local M = {}

local Review = {}
Review.__index = Review

local HELP = "a accept · r reject · A accept the rest · R reject all · ]c [c next, previous · <CR> apply · q back"

--- The whole files of all changes, one below the other: lines, and where each hunk is.
function Review:_lay_out()
  local lines = {}
  for _, block in ipairs(self.question.diffs) do
    local change = render.diff_of(block)
    table.insert(lines, vim.fn.fnamemodify(block.path, ":."))
    table.insert(self.heads, #lines - 1)
    local at = 1
    for index, hunk in ipairs(change.hunks) do
      local first = hunk[2] == 0 and hunk[1] + 1 or hunk[1]
      vim.list_extend(lines, change.old, at, first - 1)
      local place = { change = change, index = index, row = #lines, old = hunk[2], new = hunk[4] }
      vim.list_extend(lines, change.old, first, first + hunk[2] - 1)
      vim.list_extend(lines, change.new, hunk[3], hunk[3] + hunk[4] - 1)
      at = first + hunk[2]
      table.insert(self.hunks, place)
    end
    vim.list_extend(lines, change.old, at)
  end
  -- A line of a file never has a line break, but may hold what stands for a zero byte.
  return vim.tbl_map(function(line)
    return (line:gsub("\n", " "))
  end, lines)
end

function Review:_mark(number)
  local hunk = self.hunks[number]
  api.nvim_buf_clear_namespace(self.buffer, namespace, hunk.row, hunk.row + math.max(hunk.old + hunk.new, 1))
  local groups = { "QuillbackRemoved", "QuillbackAdded" }
  if hunk.taken == false then
    groups[2] = "QuillbackRejected"
  end
  if hunk.old > 0 and hunk.taken ~= false then
    self:_paint(hunk.row, hunk.old, groups[1])
  end
  self:_paint(hunk.row + hunk.old, hunk.new, groups[2])
  local word = ({ [true] = "accepted", [false] = "rejected" })[hunk.taken] or "?"
  api.nvim_buf_set_extmark(self.buffer, namespace, hunk.row, 0, {
    virt_text = { { ("hunk %d of %d: %s"):format(number, #self.hunks, word), "QuillbackHint" } },
    virt_text_pos = "right_align",
  })
end

function Review:_paint(row, count, group)
  if count > 0 then
    local options = { end_row = row + count, hl_group = group, hl_eol = true, priority = 90 }
    api.nvim_buf_set_extmark(self.buffer, namespace, row, 0, options)
  end
end

--- The number of the hunk at the cursor, or the first one below it.
function Review:_here()
  local row = api.nvim_win_get_cursor(0)[1] - 1
  for number, hunk in ipairs(self.hunks) do
    if row < hunk.row + math.max(hunk.old + hunk.new, 1) then
      return number
    end
  end
  return #self.hunks
end

function Review:go(number)
  local hunk = self.hunks[number]
  if hunk then
    api.nvim_win_set_cursor(0, { hunk.row + 1, 0 })
    vim.cmd("normal! zz")
  end
end

--- Takes or rejects one hunk, and goes on to the next that is open.
function Review:decide(taken)
  local number = self:_here()
  self.hunks[number].taken = taken
  self:_mark(number)
  for step = 1, #self.hunks do
    local other = (number + step - 1) % #self.hunks + 1
    if self.hunks[other].taken == nil then
      return self:go(other)
    end
  end
end

--- Decides all hunks that are open (`every`: all of them), and answers.
function Review:decide_rest(taken, every)
  for number, hunk in ipairs(self.hunks) do
    if every or hunk.taken == nil then
      hunk.taken = taken
      self:_mark(number)
    end
  end
  self:apply()
end

--- What was decided of one file.
local function outcome(change, hunks)
  local taken = {}
  for _, hunk in ipairs(hunks) do
    if hunk.change == change and hunk.taken then
      table.insert(taken, hunk.index)
    end
  end
  local partial = #taken < #change.hunks
  local chosen = partial and diff.merged(change, function(index)
    return vim.tbl_contains(taken, index)
  end) or change.new_text
  return {
    path = change.path,
    proposed = change.new_text,
    chosen = chosen,
    taken = taken,
    total = #change.hunks,
    partial = partial,
  }
end

function Review:apply()
  local open = vim.tbl_filter(function(hunk)
    return hunk.taken == nil
  end, self.hunks)
  if #open > 0 then
    vim.notify(("Quillback: %d hunks are not decided; A accepts them"):format(#open), vim.log.levels.WARN)
    return
  end
  local some = vim.iter(self.hunks):any(function(hunk)
    return hunk.taken
  end)
  local reviewed = vim.tbl_map(function(block)
    return outcome(render.diff_of(block), self.hunks)
  end, self.question.diffs)
  local choice = some and questions.choice(self.question, "allow_once", "allow_always")
    or questions.choice(self.question, "reject_once", "reject_always")
  self.question.answer(choice.id, some and reviewed or nil)
end

function Review:_map()
  local function map(key, action)
    vim.keymap.set("n", key, action, { buffer = self.buffer, nowait = true, silent = true })
  end
  map("a", function() self:decide(true) end)
  map("r", function() self:decide(false) end)
  map("A", function() self:decide_rest(true) end)
  map("R", function() self:decide_rest(false, true) end)
  map("]c", function() self:go(self:_next(1)) end)
  map("[c", function() self:go(self:_next(-1)) end)
  map("<CR>", function() self:apply() end)
  map("q", function() self:close() end)
  map("g?", function() vim.notify(HELP) end)
end

function Review:_next(step)
  local row = api.nvim_win_get_cursor(0)[1] - 1
  local found
  for number, hunk in ipairs(self.hunks) do
    if step > 0 and hunk.row > row then
      return number
    elseif step < 0 and hunk.row < row then
      found = number
    end
  end
  return found
end

function Review:close()
  if api.nvim_buf_is_valid(self.buffer) then
    api.nvim_buf_delete(self.buffer, { force = true })
  end
end

--- Opens the review of a question in a tab of its own; it closes with the question.
function M.open(question)
  local self = setmetatable({ question = question, hunks = {}, heads = {} }, Review)
  local lines = self:_lay_out()
  if #self.hunks == 0 then
    return vim.notify("Quillback: there is no difference to review")
  end
  vim.cmd.tabnew()
  self.buffer = api.nvim_get_current_buf()
  vim.bo[self.buffer].buftype = "nofile"
  vim.bo[self.buffer].bufhidden = "wipe"
  vim.bo[self.buffer].swapfile = false
  api.nvim_buf_set_lines(self.buffer, 0, -1, false, lines)
  vim.bo[self.buffer].modifiable = false
  pcall(vim.treesitter.start, self.buffer, vim.treesitter.language.get_lang(
    vim.filetype.match({ filename = question.diffs[1].path }) or ""
  ))
  vim.bo[self.buffer].filetype = "quillback-review"
  vim.wo.winbar = " " .. HELP:gsub("%%", "%%%%")
  for _, row in ipairs(self.heads) do
    api.nvim_buf_set_extmark(self.buffer, namespace, row, 0, { line_hl_group = "QuillbackFile" })
  end
  for number in ipairs(self.hunks) do
    self:_mark(number)
  end
  self:_map()
  self:go(1)
  question.on_close = function()
    self:close()
  end
  return self
end

return M
