-- Tells the user what they would miss: a question or the end of a turn while they look elsewhere.

local config = require("quillback.config")

local api = vim.api

local M = { focused = true }

function M.watch()
  local group = api.nvim_create_augroup("quillback.alert", {})
  api.nvim_create_autocmd({ "FocusGained", "FocusLost" }, {
    group = group,
    callback = function(event)
      M.focused = event.event == "FocusGained"
    end,
  })
end

local function visible(buffer)
  for _, window in ipairs(api.nvim_tabpage_list_wins(0)) do
    if api.nvim_win_get_buf(window) == buffer then
      return true
    end
  end
  return false
end

--- To the terminal, which may show it on the desktop (OSC 9). Not where nobody looks at a terminal.
local function tell_terminal(text)
  local terminal = vim.iter(api.nvim_list_uis()):any(function(ui)
    return ui.stdout_tty
  end)
  if terminal then
    io.stdout:write(("\27]9;%s\7"):format((text:gsub("%c", " "))))
  end
end

--- `buffer` is the chat that this is about.
function M.raise(buffer, text)
  local options = config.get().notify
  if not options.enabled or (M.focused and visible(buffer)) then
    return
  end
  vim.notify(text, vim.log.levels.INFO, { title = "Quillback" })
  if options.terminal and not M.focused then
    tell_terminal("Quillback: " .. text)
  end
end

return M
