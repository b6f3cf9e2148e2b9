-- Completion in the prompt: @ for files and symbols, / for the server's commands. Opens by itself while typing.

local mentions = require("quillback.mentions")

local api = vim.api

local M = {}

local function show(start, items)
  if #items > 0 and vim.fn.mode():sub(1, 1) == "i" then
    vim.fn.complete(start, items)
  end
end

local function commands(chat, query)
  local found = {}
  for _, command in ipairs(chat.session.commands) do
    if vim.startswith(command.name, query) then
      table.insert(found, { word = "/" .. command.name, menu = command.description })
    end
  end
  return found
end

--- Offers what fits the word before the cursor.
function M.offer(chat)
  local row, column = unpack(api.nvim_win_get_cursor(0))
  local before = api.nvim_get_current_line():sub(1, column)
  local command = row == 1 and before:match("^/(%S*)$")
  if command then
    return show(1, commands(chat, command))
  end
  local mention = (" " .. before):match("%s@(%S*)$")
  if not mention then
    return
  end
  mentions.complete(mention, function(items)
    -- The answer may come when the user is somewhere else already.
    local now = api.nvim_win_get_cursor(0)
    if api.nvim_get_current_buf() == chat.input and now[1] == row and now[2] == column then
      show(column - #mention, items)
    end
  end)
end

function M.attach(chat)
  vim.bo[chat.input].completeopt = "menuone,noselect,noinsert"
  api.nvim_create_autocmd({ "TextChangedI", "TextChangedP" }, {
    buffer = chat.input,
    callback = function()
      M.offer(chat)
    end,
  })
end

return M
