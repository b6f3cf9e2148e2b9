-- The keys of the two chat buffers.

local config = require("quillback.config")
local earlier = require("quillback.earlier")

local M = {}

local function line()
  return vim.api.nvim_win_get_cursor(0)[1]
end

local function jump(chat, step)
  local rows = vim.tbl_map(function(entry)
    return (entry.row or 0) + 1
  end, chat.session.transcript:prompts())
  local here, target = line(), nil
  for _, row in ipairs(rows) do
    if step > 0 and row > here then
      target = row
      break
    elseif step < 0 and row < here then
      target = row
    end
  end
  if target then
    vim.api.nvim_win_set_cursor(0, { target, 0 })
  end
end

local function with_prompt(chat, act)
  local entry = earlier.prompt_at(chat, line())
  if entry then
    act(entry)
  end
end

local function chat_actions(chat)
  local function answer(kind)
    return function()
      chat:answer(kind, chat:question(line()))
    end
  end
  return {
    allow = { answer("allow_once"), "Allow, or answer" },
    allow_always = { answer("allow_always"), "Always allow" },
    reject = { answer("reject_once"), "Reject, or decline" },
    reject_always = { answer("reject_always"), "Always reject" },
    review = {
      function()
        chat:review(chat:question(line()))
      end,
      "Review the change hunk by hunk",
    },
    edit_prompt = {
      function()
        with_prompt(chat, function(entry)
          earlier.edit(chat, entry)
        end)
      end,
      "Edit this prompt and send it anew",
    },
    restore = {
      function()
        with_prompt(chat, function(entry)
          earlier.restore(chat, entry)
        end)
      end,
      "Restore files to before this prompt",
    },
    next_prompt = {
      function()
        jump(chat, 1)
      end,
      "Next prompt",
    },
    previous_prompt = {
      function()
        jump(chat, -1)
      end,
      "Previous prompt",
    },
    input = {
      function()
        require("quillback.chat").show(chat)
        vim.cmd.startinsert()
      end,
      "To the prompt",
    },
  }
end

local function shared_actions(chat)
  return {
    cancel = {
      function()
        chat:cancel()
      end,
      "Cancel the turn",
    },
    hide = {
      function()
        require("quillback.layout").hide()
      end,
      "Hide the chat",
    },
    help = {
      function()
        vim.cmd.help("quillback-keys")
      end,
      "Help",
    },
  }
end

local function map(buffer, modes, key, action)
  if key then
    vim.keymap.set(modes, key, action[1], { buffer = buffer, nowait = true, silent = true, desc = action[2] })
  end
end

function M.attach(chat)
  local keys = config.get().keys
  for name, action in pairs(chat_actions(chat)) do
    map(chat.buffer, "n", keys[name], action)
  end
  for name, action in pairs(shared_actions(chat)) do
    map(chat.buffer, "n", keys[name], action)
    map(chat.input, "n", name ~= "hide" and keys[name] or nil, action)
  end
  local send = {
    function()
      chat:send()
    end,
    "Send, or queue while a turn runs",
  }
  map(chat.input, "n", keys.send, send)
  map(chat.input, { "n", "i" }, keys.send_insert, send)
  map(chat.input, { "n", "i" }, keys.steer, {
    function()
      chat:steer()
    end,
    "Add to the running turn",
  })
end

return M
