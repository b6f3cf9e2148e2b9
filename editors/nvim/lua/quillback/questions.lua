-- Questions to the user: each hangs on an entry of the transcript and is answered there, by key or command.

local M = {}

local function remove(list, item)
  for index, found in ipairs(list) do
    if found == item then
      return table.remove(list, index)
    end
  end
end

--- Opens a question. `spec`: title, choices ({id, name, key}), diffs (blocks of the protocol, for the review) and
--- withdrawn(), called when nobody is to answer any more. `done(choice_id, reviewed)` comes at most once; `reviewed`
--- is what the review says, if the answer came from there.
function M.open(session, entry, spec, done)
  local question = { title = spec.title, choices = spec.choices, diffs = spec.diffs or {}, entry = entry }
  local function close()
    if entry.question ~= question then
      return false
    end
    entry.question = nil
    remove(session.questions, question)
    session.transcript.listener:changed(entry)
    session.watcher.changed()
    if question.on_close then
      question.on_close()
    end
    return true
  end
  function question.answer(choice_id, reviewed)
    if close() then
      done(choice_id, reviewed)
    end
  end
  function question.withdraw()
    if close() and spec.withdrawn then
      spec.withdrawn()
    end
  end
  if entry.question then
    entry.question.withdraw()
  end
  entry.question = question
  table.insert(session.questions, question)
  session.transcript.listener:changed(entry)
  session.watcher.changed()
  session.watcher.asked(question)
  return question
end

--- The choice of a question of one of these kinds, the first kind that is there.
function M.choice(question, ...)
  for _, kind in ipairs({ ... }) do
    for _, choice in ipairs(question.choices) do
      if choice.kind == kind then
        return choice
      end
    end
  end
end

return M
