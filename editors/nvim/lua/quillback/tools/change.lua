-- Tools that change files: what a language server wants to change is shown to the user first.

local async = require("quillback.async")
local edits = require("quillback.edits")
local files = require("quillback.files")
local lsp = require("quillback.tools.lsp")
local read = require("quillback.tools.read")

local M = {}

local function path_of(job, path)
  return require("quillback.tools").path(job.session, path)
end

local function propose(job, title, changes)
  local text, paths = edits.propose(job.session, job.entry, title, changes)
  local locations = vim.tbl_map(function(path)
    return { path = path }
  end, paths)
  return text .. read.news_of(paths, job.session.cwd), locations
end

function M.rename_symbol(arguments, job)
  local method = "textDocument/rename"
  local buffer, client = lsp.client(path_of(job, arguments.path), method)
  local params = lsp.position(buffer, client, arguments)
  params.newName = arguments.new_name
  local edit = lsp.request(client, method, params, buffer)
  if not edit then
    async.fail("the language server cannot rename this")
  end
  local title = ("Rename %s to %s?"):format(arguments.symbol, arguments.new_name)
  return propose(job, title, lsp.changes(edit, client.offset_encoding))
end

--- The actions for some lines, those that are switched off left out.
local function actions_of(arguments, job)
  local method = "textDocument/codeAction"
  local buffer, client = lsp.client(path_of(job, arguments.path), method)
  local range = lsp.range(buffer, client, arguments.line, arguments.end_line)
  local found = vim.tbl_filter(function(item)
    local lines = item.user_data and item.user_data.lsp
    return lines and item.lnum >= range.start.line and item.lnum <= range["end"].line
  end, vim.diagnostic.get(buffer))
  local params = {
    textDocument = { uri = vim.uri_from_bufnr(buffer) },
    range = range,
    context = { diagnostics = vim.tbl_map(function(item)
      return item.user_data.lsp
    end, found) },
  }
  local actions = vim.tbl_filter(function(action)
    return not action.disabled
  end, lsp.request(client, method, params, buffer) or {})
  return actions, client, buffer
end

function M.code_actions(arguments, job)
  local lines = vim.tbl_map(function(action)
    return ("- %s%s"):format(action.title, action.kind and (" [%s]"):format(action.kind) or "")
  end, (actions_of(arguments, job)))
  return #lines > 0 and table.concat(lines, "\n") or "The language server offers nothing for these lines."
end

function M.apply_code_action(arguments, job)
  local actions, client, buffer = actions_of(arguments, job)
  local action = vim.iter(actions):find(function(item)
    return item.title == arguments.title
  end)
  if not action then
    async.fail("there is no such action for these lines; code_actions lists them")
  end
  if not action.edit and client:supports_method("codeAction/resolve") then
    action = lsp.request(client, "codeAction/resolve", action, buffer) or action
  end
  if not action.edit then
    async.fail("this action runs a command of the language server, which is not done here")
  end
  return propose(job, action.title .. "?", lsp.changes(action.edit, client.offset_encoding))
end

function M.format_file(arguments, job)
  local method = "textDocument/formatting"
  local path = path_of(job, arguments.path)
  local buffer, client = lsp.client(path, method)
  local params = vim.lsp.util.make_formatting_params()
  params.textDocument = { uri = vim.uri_from_bufnr(buffer) }
  local found = lsp.request(client, method, params, buffer) or {}
  local changes = lsp.changes({ changes = { [params.textDocument.uri] = found } }, client.offset_encoding)
  return propose(job, "Format " .. vim.fn.fnamemodify(path, ":.") .. "?", changes)
end

local function replaced(text, path, edit)
  local first, last = text:find(edit.old_text, 1, true)
  if edit.old_text == "" or not first then
    async.fail(path .. ": old_text is not in the file")
  end
  if text:find(edit.old_text, first + 1, true) then
    async.fail(path .. ": old_text is in the file more than once; give more of it")
  end
  return text:sub(1, first - 1) .. edit.new_text .. text:sub(last + 1)
end

function M.apply_edit(arguments, job)
  local by_path, changes = {}, {}
  for _, edit in ipairs(arguments.edits or {}) do
    local path = path_of(job, edit.path)
    local change = by_path[path]
    if not change then
      local old = files.read(path)
      if not old then
        async.fail(path .. ": there is no such file")
      end
      change = { path = path, old = old, new = old }
      by_path[path] = change
      table.insert(changes, change)
    end
    change.new = replaced(change.new, edit.path, edit)
  end
  return propose(job, ("Change %d files?"):format(#changes), changes)
end

return M
