-- What an entry of the transcript looks like: lines, and the highlights on them.

local config = require("quillback.config")
local diff = require("quillback.diff")
local transcript = require("quillback.transcript")

local M = {}

local SIGNS = { pending = "○", in_progress = "◐", completed = "●", failed = "✗" }
local STATUS_GROUPS = {
  pending = "QuillbackPending",
  in_progress = "QuillbackRunning",
  completed = "QuillbackDone",
  failed = "QuillbackFailed",
}
local DIFF_GROUPS = { ["+"] = "QuillbackAdded", ["-"] = "QuillbackRemoved" }
-- Longer than a fence that a line of context may be.
local DIFF_FENCE = "``````"

local Page = {}
Page.__index = Page

local function page()
  return setmetatable({ lines = {}, marks = {} }, Page)
end

function Page:add(text, group)
  for _, line in ipairs(vim.split(text, "\n", { plain = true })) do
    table.insert(self.lines, line)
    if group then
      table.insert(self.marks, { #self.lines - 1, group })
    end
  end
end

--- Text of a tool, which is no Markdown of ours: fenced by more marks than it has itself.
function Page:fenced(text, language)
  local longest = 2
  for marks in text:gmatch("`+") do
    longest = math.max(longest, #marks)
  end
  local fence = ("`"):rep(longest + 1)
  self:add(fence .. (language or ""))
  self:add(text)
  self:add(fence)
end

local function tail(text, most)
  local lines = vim.split(text, "\n", { plain = true })
  if #lines <= most then
    return text
  end
  local kept = vim.list_slice(lines, #lines - most + 1)
  return ("… %d lines before\n"):format(#lines - most) .. table.concat(kept, "\n")
end

--- The diff of a content block, worked out once.
function M.diff_of(block)
  if not block.worked_out then
    block.worked_out = diff.new(block.path, block.oldText, block.newText)
  end
  return block.worked_out
end

local function add_diff(out, block, most)
  local change = M.diff_of(block)
  local added, removed = diff.counts(change)
  local path = vim.fn.fnamemodify(block.path, ":.")
  out:add(("%s  +%d -%d%s"):format(path, added, removed, change.created and "  (new file)" or ""), "QuillbackFile")
  local lines, left = diff.unified(change, most)
  out:add(DIFF_FENCE)
  for _, line in ipairs(lines) do
    out:add(line[1] .. " " .. line[2]:gsub("\n", " "), DIFF_GROUPS[line[1]])
  end
  out:add(DIFF_FENCE)
  if left > 0 then
    out:add(("… %d more changed lines; the review shows all"):format(left), "QuillbackHint")
  end
end

local function add_content(out, content, most)
  for _, block in ipairs(content or {}) do
    if block.type == "diff" then
      add_diff(out, block, most)
    elseif block.type == "content" and block.content.type == "text" then
      local text = block.content.text:gsub("%s+$", "")
      if text ~= "" then
        out:fenced(tail(text, most))
      end
    elseif block.type == "content" then
      out:add(("(%s)"):format(block.content.uri or block.content.type), "QuillbackHint")
    end
  end
end

--- What the question on an entry offers, with the keys for it.
local function add_question(out, question)
  out:add("▶ " .. question.title, "QuillbackQuestion")
  for _, choice in ipairs(question.choices) do
    local key = choice.key and ("  ‹%s› "):format(choice.key) or "  "
    out:add(key .. choice.name, "QuillbackChoice")
  end
end

local views = {}

function views.user(entry, out)
  out:add(entry.steered and "❯ You, meanwhile" or "❯ You", "QuillbackYou")
  local text = table.concat(entry.parts, "\n\n")
  if text ~= "" then
    out:add(text)
  end
  if #entry.context > 0 then
    out:add("⎘ " .. table.concat(entry.context, " · "), "QuillbackHint")
  end
end

function views.agent(entry, out)
  if not entry.gone then
    out:add(transcript.text(entry))
  end
end

function views.thought(entry, out)
  if not entry.gone then
    out:add("∴ Thought", "QuillbackHint")
    out:add(transcript.text(entry))
  end
end

--- Whether a call's input says more than its title.
local function is_telling(call)
  local input = call.rawInput
  if type(input) ~= "table" then
    return false
  end
  local key, value = next(input)
  return key ~= nil and (value ~= call.title or next(input, key) ~= nil)
end

function views.tool(entry, out)
  local call = entry.call
  local status = call.status or "pending"
  out:add(("%s %s"):format(SIGNS[status] or "○", (call.title or "Tool"):gsub("\n", " ")), STATUS_GROUPS[status])
  if entry.note then
    out:add(entry.note, "QuillbackHint")
  end
  local shown = call.content
  if (not shown or #shown == 0) and entry.question and is_telling(call) then
    out:fenced(vim.inspect(call.rawInput))
  end
  add_content(out, shown, config.get().tool_lines)
  if entry.question then
    add_question(out, entry.question)
  end
end

local STEP_SIGNS = { completed = "[x]", in_progress = "[>]", pending = "[ ]" }

function views.plan(entry, out)
  out:add("☰ Plan", "QuillbackHint")
  for _, step in ipairs(entry.steps or {}) do
    out:add(("- %s %s"):format(STEP_SIGNS[step.status] or "[ ]", step.content:gsub("\n", " ")))
  end
end

local NOTE_GROUPS = { error = "QuillbackFailed", warning = "QuillbackWarning" }

function views.note(entry, out)
  out:add("※ " .. entry.text, NOTE_GROUPS[entry.level] or "QuillbackHint")
  if entry.question then
    add_question(out, entry.question)
  end
end

--- Lines and marks `{line, group}` of an entry, 0-based; the last line is the empty one below it.
function M.entry(entry)
  local out = page()
  views[entry.kind](entry, out)
  if #out.lines > 0 then
    out:add("")
  end
  return out.lines, out.marks
end

--- Whether an entry is folded away below its first line.
function M.folds(entry)
  return (entry.kind == "tool" or entry.kind == "thought") and not entry.question
end

local LINKS = {
  QuillbackYou = "Title",
  QuillbackHint = "Comment",
  QuillbackFile = "Directory",
  QuillbackPending = "Comment",
  QuillbackRunning = "DiagnosticInfo",
  QuillbackDone = "DiagnosticOk",
  QuillbackFailed = "DiagnosticError",
  QuillbackWarning = "DiagnosticWarn",
  QuillbackQuestion = "Question",
  QuillbackChoice = "Special",
  QuillbackAdded = "DiffAdd",
  QuillbackRemoved = "DiffDelete",
  QuillbackRejected = "Comment",
}

function M.define_highlights()
  for name, target in pairs(LINKS) do
    vim.api.nvim_set_hl(0, name, { link = target, default = true })
  end
end

return M
