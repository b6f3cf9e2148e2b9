-- What a user may set with require("quillback").setup{}; every value has a default that works.

local M = {}

M.defaults = {
  -- The server: a command as a list, and variables for it besides the editor's own environment.
  command = { "quillback", "acp" },
  env = {},
  -- The directory of new sessions. A function is asked each time.
  root = function()
    return vim.fn.getcwd()
  end,
  -- Share of the columns that the chat takes, and lines of the prompt window.
  width = 0.42,
  input_height = 6,
  -- Milliseconds between two redraws of the chat while an answer streams.
  flush_ms = 30,
  -- Lines that a diff or an output may take in the chat; the review shows all of a diff.
  tool_lines = 200,
  -- What goes along with each prompt. :QuillbackContext switches it for the running editor.
  context = { file = true, selection = true, diagnostics = true },
  -- Write files to disk once an edit is applied. Without it commands still see the old ones.
  save = true,
  -- Whether the language servers and buffers of the editor are offered to the agent as tools.
  frontend_tools = true,
  -- Notices out of focus. `terminal` also sends them to the terminal, which may show them on the desktop.
  notify = { enabled = true, terminal = true },
  -- Set an entry to false to leave a key alone.
  keys = {
    send = "<CR>",
    send_insert = "<C-s>",
    steer = "<M-s>",
    cancel = "<C-c>",
    allow = "a",
    allow_always = "A",
    reject = "r",
    reject_always = "R",
    review = "d",
    edit_prompt = "e",
    restore = "u",
    next_prompt = "]]",
    previous_prompt = "[[",
    input = "i",
    hide = "q",
    help = "g?",
  },
}

local values = vim.deepcopy(M.defaults)

local expected = {
  command = "table",
  env = "table",
  root = { "function", "string" },
  width = "number",
  input_height = "number",
  flush_ms = "number",
  tool_lines = "number",
  context = "table",
  save = "boolean",
  frontend_tools = "boolean",
  notify = "table",
  keys = "table",
}

--- Merges what the user set into the defaults. Raises an error that names the wrong key.
function M.set(given)
  for key, value in pairs(given or {}) do
    local kinds = expected[key]
    if not kinds then
      error(("quillback: there is no setting %q; see :help quillback-settings"):format(key), 0)
    end
    vim.validate("quillback: " .. key, value, kinds)
  end
  values = vim.tbl_deep_extend("force", vim.deepcopy(M.defaults), given or {})
  if given and given.command then
    values.command = given.command
  end
end

function M.get()
  return values
end

--- The directory for a new session, absolute.
function M.root()
  local root = values.root
  if type(root) == "function" then
    root = root()
  end
  return vim.fs.normalize(vim.fn.fnamemodify(root, ":p")):gsub("(.)/$", "%1")
end

return M
