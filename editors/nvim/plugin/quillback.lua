if vim.g.loaded_quillback then
  return
end
vim.g.loaded_quillback = true

if vim.fn.has("nvim-0.11") == 0 then
  vim.notify("Quillback needs Neovim 0.11 or newer", vim.log.levels.ERROR)
  return
end

require("quillback.commands").define()
