-- Lists to pick from: sessions, and the options of one, such as mode and model. Uses vim.ui.select.

local agent = require("quillback.agent")
local chats = require("quillback.chat")

local M = {}

local function failed(problem)
  vim.notify("Quillback: " .. problem.message, vim.log.levels.ERROR)
end

--- All pages of session/list; callback(error, sessions).
local function list(cwd, callback)
  local all = {}
  local function page(cursor)
    agent.request("session/list", { cwd = cwd, cursor = cursor }, function(problem, result)
      if problem then
        return callback(problem)
      end
      vim.list_extend(all, result.sessions)
      if result.nextCursor then
        page(result.nextCursor)
      else
        callback(nil, all)
      end
    end)
  end
  page(nil)
end

--- Opens a stored session in a chat, or shows the chat that has it.
function M.open(info)
  local chat = chats.of_session(info.sessionId)
  if not chat then
    chat = chats.new(info.cwd)
    chat.session.title = info.title
    chat.session:load(info.sessionId, function() end)
  end
  chats.show(chat)
end

--- Lets the user pick a session of a directory, of all directories without one.
function M.sessions(cwd)
  agent.ensure(function(problem)
    if problem then
      return failed(problem)
    end
    list(cwd, function(refusal, all)
      if refusal then
        return failed(refusal)
      end
      vim.ui.select(all, {
        prompt = "Session",
        kind = "quillback.session",
        format_item = function(info)
          local when = (info.updatedAt or ""):sub(1, 16):gsub("T", " ")
          return ("%s  %s"):format(when, info.title or info.sessionId)
        end,
      }, function(info)
        if info then
          M.open(info)
        end
      end)
    end)
  end)
end

local function set(chat, option, value)
  chat.session:set_option(option.id, value, function(problem)
    if problem then
      failed(problem)
    end
  end)
end

--- Sets an option of a chat's session; asks for the value where none is given.
function M.option(chat, id, value)
  local option = chat.session:option(id)
  if not option then
    return vim.notify(("Quillback: the session has no %s yet"):format(id), vim.log.levels.WARN)
  end
  if value and value ~= "" then
    return set(chat, option, value)
  end
  vim.ui.select(option.options, {
    prompt = option.name,
    kind = "quillback." .. id,
    format_item = function(item)
      local mark = item.value == option.currentValue and "● " or "  "
      return mark .. item.name .. (item.description and "  " .. item.description or "")
    end,
  }, function(item)
    if item then
      set(chat, option, item.value)
    end
  end)
end

return M
