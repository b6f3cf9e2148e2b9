-- Earlier prompts of a chat: edited and sent anew, or gone back to with the files.

local edits = require("quillback.edits")
local files = require("quillback.files")
local layout = require("quillback.layout")
local transcript = require("quillback.transcript")

local M = {}

--- The prompt at or above a line of the chat.
function M.prompt_at(chat, line)
  local found
  for _, entry in ipairs(chat.session.transcript:prompts()) do
    if entry.row and entry.row < line then
      found = entry
    end
  end
  return found
end

--- Puts an earlier prompt into the prompt window; sending it goes on from there, in a copy of the session.
function M.edit(chat, entry)
  if chat.session.running then
    return vim.notify("Quillback: cancel the turn first, or wait for its end", vim.log.levels.WARN)
  end
  chat.editing = entry
  chat:set_text(transcript.text(entry))
  layout.show(chat)
end

--- Goes on in a copy of the session that ends with a message, or in a new one.
local function branch(chat, through, text, blocks_of)
  local session = chat.session
  local function failed(problem)
    session.transcript:note(problem.message, "error")
    chat:set_text(text)
  end
  local function begin(problem)
    if problem then
      return failed(problem)
    end
    chat.session:prompt(blocks_of(text))
  end
  if not through then
    session:close()
    session.transcript:clear()
    session.title = nil
    return session:create(begin)
  end
  session:fork(through, function(problem, id)
    if problem then
      return failed(problem)
    end
    session:close()
    session:load(id, begin)
  end)
end

--- Sends a text in place of the prompt that is being edited. `blocks_of` makes the prompt of it.
function M.resend(chat, text, blocks_of)
  local entry = chat.editing
  chat.editing = nil
  local through = chat.session.transcript:message_before(entry)
  local choices = { "Keep the files as they are", "Restore the files to before that prompt" }
  vim.ui.select(choices, { prompt = "Sending the prompt anew" }, function(_, choice)
    if not choice then
      chat.editing = entry
      return chat:set_text(text)
    end
    local function go_on()
      branch(chat, through, text, blocks_of)
    end
    if choice == 2 then
      M.restore(chat, entry, go_on)
    else
      go_on()
    end
  end)
end

--- Puts files back to before a prompt: the agent's changes through the server, those of the editor's tools here.
function M.restore(chat, entry, callback)
  if chat.session.running then
    return vim.notify("Quillback: cancel the turn first, or wait for its end", vim.log.levels.WARN)
  end
  local own = edits.undo_since(chat.session, entry.index)
  chat.session:restore(chat.session.transcript:message_before(entry), function(problem, texts)
    files.refresh()
    vim.list_extend(own, texts)
    if problem then
      table.insert(own, problem.message)
    elseif #own == 0 then
      table.insert(own, "There is nothing to restore: no file was changed since that prompt.")
    end
    chat.session.transcript:note(table.concat(own, "\n\n"), problem and "error" or "info")
    if callback and not problem then
      callback()
    end
  end)
end

return M
