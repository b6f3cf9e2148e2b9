-- Changes that the editor's own tools make, with the user's consent, and how they are taken back.

local async = require("quillback.async")
local config = require("quillback.config")
local files = require("quillback.files")
local questions = require("quillback.questions")

local api = vim.api

local M = {}

-- What was applied, oldest first: {session, index, title, files = {{path, buffer, before, tick}}}.
local applied = {}

local function relative(path)
  return vim.fn.fnamemodify(path, ":.")
end

local function ask(session, entry, title, diffs)
  local keys = config.get().keys
  return async.await(function(resume)
    questions.open(session, entry, {
      title = title,
      choices = {
        { id = "allow", name = "Apply", kind = "allow_once", key = keys.allow },
        { id = "reject", name = "Reject", kind = "reject_once", key = keys.reject },
        { name = "Review hunk by hunk", kind = "review", key = keys.review },
      },
      diffs = diffs,
      withdrawn = function()
        resume("reject")
      end,
    }, resume)
  end)
end

local function all_inside(root, changes)
  local real_root = vim.uv.fs_realpath(root)
  return vim.iter(changes):all(function(change)
    local real = vim.uv.fs_realpath(change.path) or vim.uv.fs_realpath(vim.fs.dirname(change.path))
    return real ~= nil and real_root ~= nil and vim.fs.relpath(real_root, real) ~= nil
  end)
end

--- Asks the user unless the mode lets edits pass. Gives the changes to make, or nothing where they were rejected.
local function consented(session, entry, title, changes)
  local mode = session:option("mode")
  if entry.withdrawn then
    async.fail("the call was cancelled")
  elseif mode and mode.currentValue == "auto" and all_inside(session.cwd, changes) then
    return changes
  elseif mode and mode.currentValue == "chat" then
    async.fail("nothing is changed in chat mode")
  end
  local choice, reviewed = ask(session, entry, title, entry.call.content)
  if choice ~= "allow" then
    return {}
  end
  if not reviewed then
    return changes
  end
  local chosen = {}
  for index, review in ipairs(reviewed) do
    if #review.taken > 0 then
      table.insert(chosen, { path = changes[index].path, old = changes[index].old, new = review.chosen })
    end
  end
  return chosen, vim.iter(reviewed):any(function(review)
    return review.partial
  end)
end

local function apply(session, entry, title, changes)
  local record = { session = session, index = entry.index, title = title, files = {} }
  for _, change in ipairs(changes) do
    local buffer = files.write(change.path, change.new)
    local tick = api.nvim_buf_get_changedtick(buffer)
    table.insert(record.files, { path = change.path, buffer = buffer, before = change.old, tick = tick })
  end
  if #record.files > 0 then
    table.insert(applied, record)
  end
end

--- Inside async: shows changes `{path, old, new}` on the entry of their call, asks, and applies what the user takes.
--- Gives a text for the model and the paths that were changed.
function M.propose(session, entry, title, changes)
  changes = vim.tbl_filter(function(change)
    return change.old ~= change.new
  end, changes)
  if #changes == 0 then
    return "Nothing had to be changed.", {}
  end
  entry.call.content = vim.tbl_map(function(change)
    return { type = "diff", path = change.path, oldText = change.old, newText = change.new }
  end, changes)
  session.transcript.listener:changed(entry)
  local taken, partly = consented(session, entry, title, changes)
  if #taken == 0 then
    async.fail("the user rejected the change; nothing was changed")
  end
  apply(session, entry, title, taken)
  local paths = vim.tbl_map(function(change)
    return change.path
  end, taken)
  local text = ("Changed %d files: %s"):format(#paths, table.concat(vim.tbl_map(relative, paths), ", "))
  if not config.get().save then
    text = text .. "\nThe editor holds the new text unsaved; commands still see the old files."
  end
  if partly then
    text = text .. "\nThe user took only part of it; read the files before you go on."
  end
  return text, paths
end

-- ---------------------------------------------------------------- undo

local function take_back(record)
  local lines = {}
  for _, file in ipairs(record.files) do
    local valid = api.nvim_buf_is_valid(file.buffer) and api.nvim_buf_is_loaded(file.buffer)
    if not valid or api.nvim_buf_get_changedtick(file.buffer) ~= file.tick then
      table.insert(lines, ("- left alone %s: it was changed since"):format(relative(file.path)))
    elseif file.before == nil then
      api.nvim_buf_delete(file.buffer, { force = true })
      vim.fn.delete(file.path)
      table.insert(lines, "- removed " .. relative(file.path))
    else
      files.write(file.path, file.before)
      table.insert(lines, "- restored " .. relative(file.path))
    end
  end
  return ("Undid “%s”:\n%s"):format(record.title, table.concat(lines, "\n"))
end

--- Takes back the latest edit; says what came of it.
function M.undo()
  local record = table.remove(applied)
  return record and take_back(record) or "no edit of the editor's tools is left to undo"
end

--- Takes back the edits of a session since an entry of its transcript, the newest first; gives a text for each.
function M.undo_since(session, index)
  local texts = {}
  for at = #applied, 1, -1 do
    if applied[at].session == session and applied[at].index > index then
      table.insert(texts, take_back(table.remove(applied, at)))
    end
  end
  return texts
end

return M
