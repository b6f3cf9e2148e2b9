-- Drives Neovim's own LSP client against `quillback lsp`, without any plugin, and says in lines what happened.
local log = {}

local function say(...)
  local words = {}
  for _, word in ipairs({ ... }) do
    words[#words + 1] = type(word) == 'string' and word or vim.json.encode(word)
  end
  log[#log + 1] = table.concat(words, ' ')
  io.stdout:write('\n' .. log[#log] .. '\n')
end

local function wait(condition)
  if not vim.wait(20000, condition, 20) then
    say('TIMEOUT')
    vim.cmd('cquit 1')
  end
end

local function said(text)
  return vim.iter(log):any(function(line)
    return line:find(text, 1, true) ~= nil
  end)
end

vim.ui.select = function(items, options, done)
  say('SELECT', options.prompt, vim.tbl_map(options.format_item or tostring, items))
  done(items[1], 1)
end
vim.lsp.handlers['window/showMessage'] = function(_, result)
  say('MESSAGE', result.message)
end
vim.api.nvim_create_autocmd('LspProgress', {
  callback = function(event)
    say('PROGRESS', event.data.params.value.kind)
  end,
})

vim.cmd('edit greeting.py')
vim.bo.filetype = 'python'
local id = vim.lsp.start({
  name = 'quillback',
  cmd = { vim.env.QUILLBACK_PYTHON, '-m', 'quillback', 'lsp' },
  root_dir = vim.fn.getcwd(),
})
local buffer = vim.api.nvim_get_current_buf()
wait(function()
  return vim.lsp.buf_is_attached(buffer, id) and vim.lsp.get_client_by_id(id).initialized
end)

local function pick(title)
  vim.lsp.buf.code_action({
    range = { start = { 2, 4 }, ['end'] = { 2, 20 } },
    apply = true,
    filter = function(action)
      return action.title == title
    end,
  })
end

pick('Quillback: Fix what is wrong')
wait(function()
  return said('It greets with a mark now')
end)
say('BUFFER', vim.api.nvim_buf_get_lines(buffer, 0, -1, false))
vim.api.nvim_buf_call(buffer, function()
  vim.cmd('silent undo')
end)
say('UNDONE', vim.api.nvim_buf_get_lines(buffer, 0, -1, false))

vim.api.nvim_set_current_buf(buffer)
pick('Quillback: Explain')
wait(function()
  return vim.api.nvim_buf_get_name(0):find('explain', 1, true) ~= nil
end)
say('ANSWER', vim.api.nvim_buf_get_lines(0, 0, -1, false))
vim.lsp.get_client_by_id(id):stop()
wait(function()
  return vim.lsp.get_client_by_id(id) == nil
end)
say('STOPPED')
vim.cmd('qall!')
