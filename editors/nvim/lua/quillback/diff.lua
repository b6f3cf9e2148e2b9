-- Differences between two texts: hunks, how they read, and what comes of taking only some of them.

local M = {}

local CONTEXT = 2

local function lines_of(text)
  return vim.split(text or "", "\n", { plain = true })
end

--- A diff `{path, oldText, newText}` with its lines and hunks; a hunk is {old_start, old_count, new_start, new_count},
--- 1-based. Lines count the empty one behind a last line break, so that a missing one is a difference.
function M.new(path, old, new)
  local self = { path = path, old = lines_of(old), new = lines_of(new), created = old == nil, new_text = new }
  if old == nil then
    self.old = {}
    self.hunks = { { 0, 0, 1, #self.new } }
    return self
  end
  -- A line break behind each line, so that the last one is like any other.
  self.hunks = vim.diff(old .. "\n", new .. "\n", { result_type = "indices", algorithm = "histogram" })
  return self
end

--- The first line after the hunk's place in the old text, 0-based, where nothing of it is old.
local function old_range(hunk)
  local first = hunk[2] == 0 and hunk[1] + 1 or hunk[1]
  return first, first + hunk[2] - 1
end

--- The text with those hunks for which taken(index) is true.
function M.merged(self, taken)
  local out, at = {}, 1
  for index, hunk in ipairs(self.hunks) do
    local first, last = old_range(hunk)
    vim.list_extend(out, self.old, at, first - 1)
    if taken(index) then
      vim.list_extend(out, self.new, hunk[3], hunk[3] + hunk[4] - 1)
    else
      vim.list_extend(out, self.old, first, last)
    end
    at = last + 1
  end
  vim.list_extend(out, self.old, at)
  return table.concat(out, "\n")
end

--- Lines of one hunk: `{sign, text}`, where sign is "-", "+" or " ". At most `most` of each side, if that is given.
function M.hunk_lines(self, index, context, most)
  local hunk = self.hunks[index]
  local first, last = old_range(hunk)
  local out = {}
  local function add(sign, list, from, to)
    for n = math.max(from, 1), math.min(to, #list) do
      if most and n - from >= most then
        table.insert(out, { " ", ("… %d more lines"):format(to - n + 1) })
        return
      end
      table.insert(out, { sign, list[n] })
    end
  end
  add(" ", self.old, first - context, first - 1)
  add("-", self.old, first, last)
  add("+", self.new, hunk[3], hunk[3] + hunk[4] - 1)
  add(" ", self.old, last + 1, last + context)
  return out
end

--- How many lines were added and removed.
function M.counts(self)
  local added, removed = 0, 0
  for _, hunk in ipairs(self.hunks) do
    added, removed = added + hunk[4], removed + hunk[2]
  end
  return added, removed
end

--- The whole diff as lines `{sign, text}` with a little context, at most `most` of them; then how many were left out.
function M.unified(self, most)
  local out = {}
  local left = 0
  for index = 1, #self.hunks do
    if #out >= most then
      left = left + self.hunks[index][2] + self.hunks[index][4]
    else
      if index > 1 then
        table.insert(out, { " ", "⋯" })
      end
      vim.list_extend(out, M.hunk_lines(self, index, CONTEXT, most))
    end
  end
  return out, left
end

return M
