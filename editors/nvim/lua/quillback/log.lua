-- A file for what went wrong inside the plug-in; :checkhealth quillback names it.

local M = {}

function M.path()
  return vim.fs.joinpath(vim.fn.stdpath("log"), "quillback.log")
end

local function write(level, text)
  local line = ("%s %s %s\n"):format(os.date("!%Y-%m-%dT%H:%M:%SZ"), level, text)
  vim.schedule(function()
    vim.fn.mkdir(vim.fn.stdpath("log"), "p")
    local file = io.open(M.path(), "a")
    if file then
      file:write(line)
      file:close()
    end
  end)
end

function M.warn(text)
  write("WARN", text)
end

function M.error(text)
  write("ERROR", text)
  vim.schedule(function()
    vim.notify_once("Quillback: something went wrong; see " .. M.path(), vim.log.levels.ERROR)
  end)
end

return M
