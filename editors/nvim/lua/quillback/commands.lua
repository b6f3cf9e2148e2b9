-- The user commands.

local M = {}

local function chat()
  return require("quillback").chat()
end

local function pick_option(id)
  return function(given)
    require("quillback.pick").option(chat(), id, given.args)
  end
end

local function values_of(id)
  return function(beginning)
    local option = chat().session:option(id)
    local values = vim.tbl_map(function(item)
      return item.value
    end, option and option.options or {})
    return vim.tbl_filter(function(value)
      return vim.startswith(value, beginning)
    end, values)
  end
end

local function switch_context(given)
  local context = require("quillback.context")
  local kind, state = given.fargs[1], given.fargs[2]
  if not vim.tbl_contains(context.KINDS, kind) then
    return vim.notify("Quillback: say file, selection or diagnostics, then on or off", vim.log.levels.ERROR)
  end
  local on
  if state then
    on = state == "on"
  end
  context.switch(kind, on)
  chat():refresh()
end

local function answer(kind)
  return function()
    chat():answer(kind)
  end
end

local function undo_edit()
  local text = require("quillback.edits").undo()
  vim.notify("Quillback: " .. text)
end

local function restore()
  local here = chat()
  local last = here.session.transcript:prompts()
  if #last > 0 then
    require("quillback.earlier").restore(here, last[#last])
  end
end

local ALL = {
  Quillback = {
    function(given)
      local range = given.range > 0
      local lines = range and { given.line1, given.line2 } or {}
      require("quillback").open({ text = given.args, first = lines[1], last = lines[2] })
    end,
    { nargs = "*", range = true, desc = "Open the chat; send a prompt" },
  },
  QuillbackNew = {
    function(given)
      require("quillback").open({ text = given.args, fresh = true })
    end,
    { nargs = "*", desc = "Open a chat with a new session" },
  },
  QuillbackHide = {
    function()
      require("quillback.layout").hide()
    end,
    { desc = "Hide the chat" },
  },
  QuillbackSteer = {
    function(given)
      chat():steer(given.args ~= "" and given.args or nil)
    end,
    { nargs = "*", desc = "Add to the running turn" },
  },
  QuillbackCancel = {
    function()
      chat():cancel()
    end,
    { desc = "Cancel the running turn" },
  },
  QuillbackSessions = {
    function(given)
      require("quillback").prepare()
      require("quillback.pick").sessions(not given.bang and require("quillback.config").root() or nil)
    end,
    { bang = true, desc = "Pick a session of this directory; with ! of all" },
  },
  QuillbackMode = { pick_option("mode"), { nargs = "?", complete = values_of("mode"), desc = "Set the mode" } },
  QuillbackModel = { pick_option("model"), { nargs = "?", complete = values_of("model"), desc = "Set the model" } },
  QuillbackThinking = {
    pick_option("thinking"),
    { nargs = "?", complete = values_of("thinking"), desc = "Set how long the model may think" },
  },
  QuillbackContext = {
    switch_context,
    {
      nargs = "+",
      complete = function(beginning, line)
        local words = #vim.split(line, "%s+") > 2 and { "on", "off" } or require("quillback.context").KINDS
        return vim.tbl_filter(function(word)
          return vim.startswith(word, beginning)
        end, words)
      end,
      desc = "Switch what goes along with prompts",
    },
  },
  QuillbackAllow = { answer("allow_once"), { desc = "Allow what is asked for" } },
  QuillbackReject = { answer("reject_once"), { desc = "Reject what is asked for" } },
  QuillbackReview = {
    function()
      chat():review()
    end,
    { desc = "Review the proposed change hunk by hunk" },
  },
  QuillbackUndo = { restore, { desc = "Restore files to before the last prompt" } },
  QuillbackUndoEdit = { undo_edit, { desc = "Undo the last edit of the editor's own tools" } },
  QuillbackRestart = {
    function()
      require("quillback").restart()
    end,
    { desc = "Restart the server and resume the sessions" },
  },
  QuillbackStop = {
    function()
      require("quillback.agent").stop()
    end,
    { desc = "Stop the server" },
  },
}

function M.define()
  for name, command in pairs(ALL) do
    vim.api.nvim_create_user_command(name, command[1], command[2])
  end
end

return M
