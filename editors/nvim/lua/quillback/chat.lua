-- A chat: one session with its two buffers. What the user can do with it is here; keys and commands call it.

local alert = require("quillback.alert")
local complete = require("quillback.complete")
local context = require("quillback.context")
local earlier = require("quillback.earlier")
local layout = require("quillback.layout")
local mentions = require("quillback.mentions")
local questions = require("quillback.questions")
local sessions = require("quillback.session")
local views = require("quillback.view")

local api = vim.api

local Chat = {}
Chat.__index = Chat

local M = { all = {}, current = nil }

local REFRESH_MS = 50

local function scratch(role, name, filetype)
  local buffer = api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = "hide"
  vim.bo[buffer].swapfile = false
  vim.b[buffer].quillback = role
  api.nvim_buf_set_name(buffer, name)
  vim.bo[buffer].filetype = filetype
  return buffer
end

local made = 0

--- A chat without a session yet, in the directory `cwd`.
function M.new(cwd)
  made = made + 1
  local self = setmetatable({}, Chat)
  self.buffer = scratch("chat", ("quillback://%d/chat"):format(made), "quillback")
  self.input = scratch("input", ("quillback://%d/prompt"):format(made), "quillback-prompt")
  vim.bo[self.buffer].modifiable = false
  vim.bo[self.buffer].undolevels = -1
  pcall(vim.treesitter.start, self.buffer, "markdown")
  self.view = views.new(self.buffer)
  self.session = sessions.new(cwd, self:_watcher())
  require("quillback.keys").attach(self)
  complete.attach(self)
  table.insert(M.all, self)
  M.current = self
  return self
end

function Chat:_watcher()
  return {
    listener = self.view,
    changed = function()
      self:refresh()
    end,
    asked = function(question)
      local title = question.entry.call and question.entry.call.title or question.entry.text
      alert.raise(self.buffer, ("%s %s"):format(question.title, title or ""))
    end,
    ended = function(problem, reason)
      if problem then
        self:back_to_input(self.session.queue)
        self.session.queue = {}
      end
      local word = problem and "failed" or (reason == "cancelled" and "was cancelled" or "is done")
      alert.raise(self.buffer, ("The turn %s: %s"):format(word, self.session.title or "Quillback"))
      self:refresh()
    end,
  }
end

--- Brings the lines around the chat up to date, soon: while an answer streams this is asked for often.
function Chat:refresh()
  if self.refreshing then
    return
  end
  self.refreshing = true
  vim.defer_fn(function()
    self.refreshing = false
    if api.nvim_buf_is_valid(self.buffer) then
      layout.refresh(self)
      self.view:footer(vim.tbl_map(function(blocks)
        return "⧗ queued: " .. (blocks[1].text or ""):gsub("\n.*", " …")
      end, self.session.queue))
    end
  end, REFRESH_MS)
end

-- ---------------------------------------------------------------- the prompt

function Chat:text()
  return vim.trim(table.concat(api.nvim_buf_get_lines(self.input, 0, -1, false), "\n"))
end

function Chat:set_text(text)
  api.nvim_buf_set_lines(self.input, 0, -1, false, vim.split(text, "\n", { plain = true }))
end

--- Puts prompts that were not sent back where they can be edited.
function Chat:back_to_input(prompts)
  if #prompts == 0 then
    return
  end
  local texts = vim.tbl_map(function(blocks)
    return blocks[1].text
  end, prompts)
  table.insert(texts, self:text())
  self:set_text(vim.trim(table.concat(texts, "\n\n")))
end

local function blocks_of(text)
  local blocks = { { type = "text", text = text } }
  if not vim.startswith(text, "/") then
    vim.list_extend(blocks, mentions.blocks(text))
    vim.list_extend(blocks, context.blocks())
  end
  context.unpin()
  return blocks
end

--- Runs `act` once there is a session; without a server the text stays where it was.
function Chat:_with_session(text, act)
  if self.session.id and not self.session.is_lost then
    return act()
  end
  if self.session.is_lost then
    self:set_text(text)
    return self.session.transcript:note("The server is not running; :QuillbackRestart resumes the session.", "error")
  end
  self.session:create(function(problem)
    if problem then
      self.session.transcript:note(problem.message, "error")
      self:set_text(text)
      return
    end
    act()
  end)
end

--- Sends a text, or what is in the prompt; while a turn runs it is queued.
function Chat:send(text)
  text = text or self:text()
  if text == "" then
    return
  end
  self:set_text("")
  if self.editing then
    return earlier.resend(self, text, blocks_of)
  end
  local blocks = blocks_of(text)
  self:_with_session(text, function()
    self.session:prompt(blocks)
  end)
end

--- Adds what is in the prompt to the running turn.
function Chat:steer(text)
  text = text or self:text()
  if text ~= "" then
    self:set_text("")
    local blocks = blocks_of(text)
    self:_with_session(text, function()
      self.session:steer(blocks)
    end)
  end
end

--- Cancels the turn. Queued prompts come back into the prompt window.
function Chat:cancel()
  if self.editing then
    self.editing = nil
    self:set_text("")
    return self:refresh()
  end
  self:back_to_input(self.session:cancel())
end

-- ---------------------------------------------------------------- questions

--- The question at a line of the chat, else the oldest.
function Chat:question(line)
  local entry = line and self.view:entry_at(line)
  return entry and entry.question or self.session.questions[1]
end

--- Answers a question by the kind of the choice, such as allow_once.
function Chat:answer(kind, question)
  question = question or self:question()
  if not question then
    return vim.notify("Quillback: no question is open")
  end
  local choice = questions.choice(question, kind)
  if choice then
    question.answer(choice.id)
  else
    vim.notify("Quillback: this question has no such answer", vim.log.levels.WARN)
  end
end

function Chat:review(question)
  question = question or self:question()
  if question and #question.diffs > 0 then
    return require("quillback.review").open(question)
  end
  vim.notify("Quillback: no change waits for a review")
end

-- ---------------------------------------------------------------- all of them

--- The chat of a buffer, else the one that was used last; nil where there is none.
function M.here()
  local buffer = api.nvim_get_current_buf()
  for _, chat in ipairs(M.all) do
    if chat.buffer == buffer or chat.input == buffer then
      return chat
    end
  end
  return M.current
end

--- The chat that shows a session.
function M.of_session(id)
  for _, chat in ipairs(M.all) do
    if chat.session.id == id then
      return chat
    end
  end
end

function M.show(chat)
  M.current = chat
  layout.show(chat)
end

return M
