-- One session with the server: what is said to it, what it tells, and what of it is open.

local agent = require("quillback.agent")
local files = require("quillback.files")
local transcript = require("quillback.transcript")
local updates = require("quillback.updates")

local Session = {}
Session.__index = Session

local M = {}

--- `watcher` has changed(), ended(problem, stop_reason), asked() and the transcript's listener.
function M.new(cwd, watcher)
  local self = setmetatable({
    cwd = cwd,
    watcher = watcher,
    queue = {},
    questions = {},
    commands = {},
    options = {},
    usage = nil,
    title = nil,
    running = nil,
  }, Session)
  self.transcript = transcript.new(watcher.listener)
  return self
end

local function setup(session, more)
  return vim.tbl_extend("force", { cwd = session.cwd, mcpServers = {} }, more or {})
end

function Session:_opened(id, result)
  self.id = id
  agent.sessions[id] = self
  self.modes = result.modes
  self.options = result.configOptions or {}
  self.is_lost = false
  self.watcher.changed()
end

--- Opens a new session on the server; callback(error).
function Session:create(callback)
  agent.ensure(function(problem)
    if problem then
      return callback(problem)
    end
    agent.request("session/new", setup(self), function(refusal, result)
      if not refusal then
        self:_opened(result.sessionId, result)
      end
      callback(refusal)
    end)
  end)
end

--- Opens a stored session, whose stream is told again; callback(error).
function Session:load(id, callback)
  agent.ensure(function(problem)
    if problem then
      return callback(problem)
    end
    self.transcript:clear()
    self.id = id
    agent.sessions[id] = self
    agent.request("session/load", setup(self, { sessionId = id }), function(refusal, result)
      if refusal then
        self.transcript:note("The session could not be opened: " .. refusal.message, "error")
      else
        self:_opened(id, result)
      end
      callback(refusal)
    end)
  end)
end

--- After a restart of the server. A session that never came to be is made now.
function Session:resume()
  local function done(problem)
    if not problem then
      self.transcript:note("The session is resumed.")
    end
    self.watcher.changed()
  end
  if self.id then
    self:load(self.id, done)
  else
    self:create(done)
  end
end

--- Ends the session here; it stays stored.
function Session:close()
  if self.id then
    agent.sessions[self.id] = nil
    agent.request("session/close", { sessionId = self.id }, function() end)
  end
end

--- The server is gone.
function Session:lost(text)
  self.is_lost = true
  self:_withdraw_questions()
  self.transcript:note(text, "error")
  self.watcher.changed()
end

--- Sends a prompt, or queues it while a turn runs.
function Session:prompt(blocks)
  if self.running then
    table.insert(self.queue, blocks)
    return self.watcher.changed()
  end
  local entry = self.transcript:prompt(blocks)
  self.running = true
  self.cancelling = false
  self.watcher.changed()
  agent.request("session/prompt", { sessionId = self.id, prompt = blocks }, function(problem, result)
    self:_ended(entry, problem, result)
  end)
end

function Session:_ended(_, problem, result)
  self.running = nil
  local ours = result and (result._meta or {})["quillback.dev"] or {}
  local last = self.transcript:last()
  if last and ours.messageId and ours.messageId ~= "" then
    last.through = ours.messageId
  end
  self:_withdraw_questions()
  if problem and not problem.ended then
    self.transcript:note(problem.message, "error")
  elseif result and result.stopReason ~= "end_turn" then
    self.transcript:note(M.reasons[result.stopReason] or ("The turn ended: " .. result.stopReason), "warning")
  end
  files.refresh()
  self.watcher.ended(problem, result and result.stopReason)
  local next_prompt = not self.cancelling and not problem and table.remove(self.queue, 1)
  if next_prompt then
    self:prompt(next_prompt)
  end
end

M.reasons = {
  cancelled = "Cancelled.",
  max_tokens = "The answer was cut off at the model's limit.",
  max_turn_requests = "The turn ended at its limit of steps; send a prompt to go on.",
  refusal = "The model declined to answer.",
}

--- Cancels the running turn. Gives the prompts that were queued; they are not sent.
function Session:cancel()
  local queued = self.queue
  self.queue = {}
  if self.running then
    self.cancelling = true
    self:_withdraw_questions()
    agent.notify("session/cancel", { sessionId = self.id })
  end
  self.watcher.changed()
  return queued
end

--- Adds to the running turn; what the server did not take is queued.
function Session:steer(blocks)
  if not self.running then
    return self:prompt(blocks)
  end
  agent.request("_quillback/session/steer", { sessionId = self.id, prompt = blocks }, function(problem)
    if problem then
      self:prompt(blocks)
    end
  end)
end

--- Undoes the file changes of the turns after a message, of all turns without one; callback(error, texts).
function Session:restore(after, callback)
  local texts = {}
  local function step()
    local params = { sessionId = self.id, afterMessageId = after }
    agent.request("_quillback/session/undo", params, function(problem, result)
      if problem then
        return callback(problem, texts)
      end
      if not result.messageId then
        return callback(nil, texts)
      end
      table.insert(texts, result.text)
      step()
    end)
  end
  step()
end

--- A copy of the session up to a message; callback(error, id).
function Session:fork(through, callback)
  local meta = { ["quillback.dev"] = { messageId = through } }
  agent.request("session/fork", setup(self, { sessionId = self.id, _meta = meta }), function(problem, result)
    callback(problem, result and result.sessionId)
  end)
end

--- Sets mode, model or thinking; callback(error).
function Session:set_option(id, value, callback)
  local params = { sessionId = self.id, configId = id, value = value }
  agent.request("session/set_config_option", params, function(problem, result)
    if result and result.configOptions then
      self.options = result.configOptions
      self.watcher.changed()
    end
    callback(problem)
  end)
end

function Session:option(id)
  for _, option in ipairs(self.options) do
    if option.id == id then
      return option
    end
  end
end

--- Takes back every open question; the server is told that it was cancelled.
function Session:_withdraw_questions()
  for _, question in ipairs(vim.list_slice(self.questions)) do
    question.withdraw()
  end
end

function Session:updated(update)
  local meta = (update._meta or {})["quillback.dev"] or {}
  if meta.supersedes then
    self.transcript:supersede(meta.supersedes)
  end
  local handle = updates[update.sessionUpdate]
  if handle then
    handle(self, update)
  end
end

return M
