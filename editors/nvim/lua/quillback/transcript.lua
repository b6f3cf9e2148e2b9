-- What was said and done in a session, as a list of entries, whatever it looks like on the screen.
--
-- Kinds: user, agent, thought, tool, plan, note. Text grows by parts; a tool call is replaced field by field.

local Transcript = {}
Transcript.__index = Transcript

local M = {}

--- `listener` has the methods changed(entry), grew(entry, text) and cleared().
function M.new(listener)
  return setmetatable({ entries = {}, calls = {}, listener = listener }, Transcript)
end

function Transcript:clear()
  self.entries, self.calls, self.plan = {}, {}, nil
  self.listener:cleared()
end

function Transcript:last()
  return self.entries[#self.entries]
end

function Transcript:push(entry)
  local last = self:last()
  if last and last.parts then
    self:_close_fence(last)
  end
  table.insert(self.entries, entry)
  entry.index = #self.entries
  self.listener:changed(entry)
  return entry
end

--- A code block that was cut off would swallow what comes below it.
function Transcript:_close_fence(entry)
  local fence
  for line in (table.concat(entry.parts) .. "\n"):gmatch("(.-)\n") do
    local mark = line:match("^%s?%s?%s?(```+)") or line:match("^%s?%s?%s?(~~~+)")
    if fence and mark and mark:sub(1, 1) == fence:sub(1, 1) and #mark >= #fence then
      fence = nil
    elseif mark and not fence then
      fence = mark
    end
  end
  if fence then
    self:grow(entry, "\n" .. fence)
  end
end

function Transcript:grow(entry, text)
  table.insert(entry.parts, text)
  self.listener:grew(entry, text)
end

--- Text of the agent: `kind` is agent or thought.
function Transcript:say(kind, id, text)
  local last = self:last()
  if last and last.kind == kind and last.id == id then
    return self:grow(last, text)
  end
  self:push({ kind = kind, id = id, parts = { text } })
end

function M.text(entry)
  return table.concat(entry.parts or {})
end

local function label(block)
  local uri = block.uri or (block.resource or {}).uri or block.type
  local path = uri:match("^file://(.*)$")
  return path and vim.fn.fnamemodify(vim.uri_decode(path), ":.") or uri
end

--- A block of a prompt: text is shown, what else goes along is named.
function Transcript:prompt_block(id, block, more)
  local last = self:last()
  local entry = last and last.kind == "user" and last.id == id and last
    or self:push(vim.tbl_extend("force", { kind = "user", id = id, parts = {}, context = {} }, more or {}))
  if block.type == "text" then
    table.insert(entry.parts, block.text)
  else
    table.insert(entry.context, label(block))
  end
  self.listener:changed(entry)
  return entry
end

--- A prompt that is sent now. Its id is known to the server only, so it is told apart by itself.
function Transcript:prompt(blocks)
  local id, entry = {}, nil
  for _, block in ipairs(blocks) do
    entry = self:prompt_block(id, block, { blocks = blocks })
  end
  return entry
end

--- A tool call or an update of one; gives its entry.
function Transcript:tool(update)
  local entry = self.calls[update.toolCallId]
  if not entry then
    entry = self:push({ kind = "tool", call = { toolCallId = update.toolCallId, title = "Tool", status = "pending" } })
    self.calls[update.toolCallId] = entry
  end
  for key, value in pairs(update) do
    if key ~= "sessionUpdate" and key ~= "_meta" then
      entry.call[key] = value
    end
  end
  self.listener:changed(entry)
  return entry
end

function Transcript:planned(entries)
  if not self.plan or self.plan.index < #self.entries - 20 then
    self.plan = self:push({ kind = "plan" })
  end
  self.plan.steps = entries
  self.listener:changed(self.plan)
end

--- A line of the editor's own. `level` is info, warning or error.
function Transcript:note(text, level)
  return self:push({ kind = "note", text = text, level = level or "info" })
end

--- A retry has replaced these messages: their text is gone.
function Transcript:supersede(ids)
  for _, entry in ipairs(self.entries) do
    if entry.id and vim.tbl_contains(ids, entry.id) and not entry.gone then
      entry.gone, entry.parts = true, {}
      self.listener:changed(entry)
    end
  end
end

--- The id of the last message before an entry, at which a session can be forked; nil where there is none.
function Transcript:message_before(entry)
  for index = entry.index - 1, 1, -1 do
    local earlier = self.entries[index]
    local id = earlier.through or (not earlier.gone and earlier.id)
    if type(id) == "string" then
      return id
    end
  end
end

--- The prompts that began a turn, oldest first.
function Transcript:prompts()
  return vim.tbl_filter(function(entry)
    return entry.kind == "user" and not entry.steered
  end, self.entries)
end

return M
