-- What users and their configuration call.

local M = {}

local ready = false

--- Once: what has to be watched from the beginning.
local function prepare()
  if ready then
    return
  end
  ready = true
  require("quillback.render").define_highlights()
  require("quillback.context").watch()
  require("quillback.alert").watch()
  require("quillback.tools.fresh").watch()
  local group = vim.api.nvim_create_augroup("quillback", {})
  vim.api.nvim_create_autocmd("ColorScheme", {
    group = group,
    callback = require("quillback.render").define_highlights,
  })
  vim.api.nvim_create_autocmd("VimLeavePre", {
    group = group,
    callback = function()
      require("quillback.agent").stop()
    end,
  })
end

--- Sets options; see :help quillback-settings. Not needed where the defaults fit.
function M.setup(options)
  require("quillback.config").set(options)
end

--- The chat that is used: the one of this buffer, else the last, else a new one.
function M.chat()
  prepare()
  local chats = require("quillback.chat")
  local chat = chats.here()
  if not chat then
    chat = M.create()
  end
  return chat
end

--- A chat with a new session.
function M.create()
  prepare()
  local chat = require("quillback.chat").new(require("quillback.config").root())
  chat.session:create(function(problem)
    if problem then
      chat.session.transcript:note(problem.message, "error")
    end
  end)
  return chat
end

--- Shows the chat. `options`: text to send, first and last line of a selection in the current buffer, fresh.
function M.open(options)
  options = options or {}
  prepare()
  if options.first then
    require("quillback.context").pin(vim.api.nvim_get_current_buf(), options.first, options.last)
  end
  local chat = options.fresh and M.create() or M.chat()
  require("quillback.chat").show(chat)
  if options.text and options.text ~= "" then
    M.when_open(chat, function()
      chat:send(options.text)
    end)
  end
  return chat
end

--- Runs `act` once the session of a chat is open, or cannot be.
function M.when_open(chat, act)
  local timer = assert(vim.uv.new_timer())
  timer:start(0, 20, vim.schedule_wrap(function()
    local state = require("quillback.agent").state
    if not timer:is_closing() and (chat.session.id or state == "stopped") then
      timer:close()
      act()
    end
  end))
end

--- Starts the server anew and resumes the sessions.
function M.restart()
  prepare()
  require("quillback.agent").restart(function(problem)
    if problem then
      vim.notify(problem.message, vim.log.levels.ERROR, { title = "Quillback" })
    end
  end)
end

M.prepare = prepare

return M
