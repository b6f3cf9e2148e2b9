-- The two windows of a chat: the conversation, and the prompt below it.

local config = require("quillback.config")
local status = require("quillback.status")

local api = vim.api

local M = {}

--- The windows of chats in this tab: conversation and prompt; nil for what is not there.
function M.windows()
  local chat_window, input_window
  for _, window in ipairs(api.nvim_tabpage_list_wins(0)) do
    local role = vim.b[api.nvim_win_get_buf(window)].quillback
    if role == "chat" then
      chat_window = window
    elseif role == "input" then
      input_window = window
    end
  end
  return chat_window, input_window
end

local function local_options(window, options)
  for name, value in pairs(options) do
    api.nvim_set_option_value(name, value, { win = window, scope = "local" })
  end
end

local function dress_chat(window)
  local_options(window, {
    wrap = true,
    linebreak = true,
    number = false,
    relativenumber = false,
    signcolumn = "no",
    foldcolumn = "0",
    spell = false,
    list = false,
    cursorline = false,
    conceallevel = 2,
    foldmethod = "expr",
    foldexpr = "v:lua.require'quillback.view'.fold(v:lnum)",
    foldtext = "",
    foldlevel = 0,
    foldenable = true,
    fillchars = "fold: ",
    winfixwidth = true,
  })
end

local function dress_input(window)
  local_options(window, {
    wrap = true,
    linebreak = true,
    number = false,
    relativenumber = false,
    signcolumn = "no",
    foldcolumn = "0",
    foldenable = false,
    winfixheight = true,
    winfixwidth = true,
  })
end

--- Shows a chat in this tab, in the windows that are there or in new ones; the prompt gets the cursor.
function M.show(chat)
  local chat_window, input_window = M.windows()
  if chat_window then
    api.nvim_win_set_buf(chat_window, chat.buffer)
  else
    local width = math.max(math.floor(vim.o.columns * config.get().width), 30)
    chat_window = api.nvim_open_win(chat.buffer, false, { split = "right", win = -1, width = width })
  end
  dress_chat(chat_window)
  if input_window then
    api.nvim_win_set_buf(input_window, chat.input)
  else
    local place = { split = "below", win = chat_window, height = config.get().input_height }
    input_window = api.nvim_open_win(chat.input, false, place)
  end
  dress_input(input_window)
  api.nvim_set_current_win(input_window)
  M.refresh(chat)
end

--- Closes the windows of chats in this tab; the sessions go on.
function M.hide()
  local chat_window, input_window = M.windows()
  for _, window in ipairs({ input_window or false, chat_window or false }) do
    if window and #api.nvim_tabpage_list_wins(0) > 1 then
      pcall(api.nvim_win_close, window, true)
    elseif window then
      api.nvim_win_call(window, vim.cmd.enew)
    end
  end
end

--- Brings the lines above the windows up to date, wherever the chat is shown.
function M.refresh(chat)
  local lines = { [chat.buffer] = status.chat_line(chat.session), [chat.input] = status.input_line(chat) }
  for buffer, line in pairs(lines) do
    for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
      if vim.wo[window].winbar ~= line then
        api.nvim_set_option_value("winbar", line, { win = window, scope = "local" })
      end
    end
  end
end

return M
