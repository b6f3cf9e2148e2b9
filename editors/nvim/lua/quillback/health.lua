-- :checkhealth quillback

local config = require("quillback.config")

local M = {}

local health = vim.health
local SECONDS = 30

local function run(command)
  local ok, done = pcall(function()
    return vim.system(command, { text = true, env = config.get().env }):wait(SECONDS * 1000)
  end)
  return ok and done or nil
end

local function check_editor()
  if vim.fn.has("nvim-0.11") == 1 then
    health.ok("Neovim " .. tostring(vim.version()))
  else
    health.error("Neovim is older than 0.11")
  end
  if pcall(vim.treesitter.language.add, "markdown") then
    health.ok("the Markdown parser is there: answers are highlighted")
  else
    health.warn("the Markdown parser is missing: answers are plain text", "Install it with :TSInstall markdown")
  end
end

local function check_server()
  local program = config.get().command[1]
  if vim.fn.executable(program) == 0 then
    return health.error(("`%s` cannot be run"):format(program), {
      "Install it: pipx install quillback",
      "Or name it in full: require('quillback').setup({ command = { '/path/to/quillback', 'acp' } })",
    })
  end
  health.ok("server: " .. vim.fn.exepath(program))
  local done = run({ program, "doctor" })
  if not done then
    return health.warn(("`%s doctor` could not be run"):format(program))
  end
  health.info(("`%s doctor` says:\n%s"):format(program, vim.trim(done.stdout .. done.stderr)))
  if done.code ~= 0 then
    health.warn("something is missing; see above")
  end
end

local function check_running()
  local agent = require("quillback.agent")
  if agent.state == "ready" then
    local info = agent.info.agentInfo or {}
    health.ok(("running: %s %s, process %d, %d sessions open"):format(
      info.title or "server",
      info.version or "?",
      agent.pid(),
      vim.tbl_count(agent.sessions)
    ))
  else
    health.info("the server is " .. agent.state .. "; :Quillback starts it")
  end
  local clients = vim.lsp.get_clients()
  if #clients == 0 then
    health.info("no language server runs now: the agent's rename, definition and so on wait for one")
  end
  for _, client in ipairs(clients) do
    health.ok("language server: " .. client.name)
  end
  health.info("log of the plug-in: " .. require("quillback.log").path())
end

function M.check()
  health.start("Quillback: editor")
  check_editor()
  health.start("Quillback: server")
  check_server()
  health.start("Quillback: now")
  check_running()
end

return M
