-- Files as the editor has them: the text of buffers, and changes that can be undone in them.

local config = require("quillback.config")

local api = vim.api

local M = {}

local NOT_FOUND = -32002

-- By path: a proposed text of which only a part is to be written.
local expected = {}
-- By buffer: when it was opened for the agent.
local opened = {}

local function real(path)
  return vim.uv.fs_realpath(path) or vim.fs.normalize(path)
end

--- The loaded buffer of a path, if there is one.
function M.loaded(path)
  local wanted = real(path)
  for _, buffer in ipairs(api.nvim_list_bufs()) do
    local name = api.nvim_buf_get_name(buffer)
    if name ~= "" and api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].buftype == "" and real(name) == wanted then
      return buffer
    end
  end
end

--- The buffer of a path, loaded now where it was not. Raises an error where it cannot be.
function M.load(path)
  local buffer = M.loaded(path)
  if buffer then
    return buffer
  end
  buffer = vim.fn.bufadd(path)
  vim.bo[buffer].buflisted = true
  -- A swap file of another editor would ask a question here that nobody expects.
  local shortmess = vim.o.shortmess
  vim.o.shortmess = shortmess .. "A"
  local ok, problem = pcall(vim.fn.bufload, buffer)
  vim.o.shortmess = shortmess
  if not ok then
    error(problem, 0)
  end
  opened[buffer] = vim.uv.now()
  return buffer
end

--- Takes in what has changed on disk, of one buffer or of all. No dialog: it would wait for keys meant for others.
function M.refresh(buffer)
  local kept = {}
  local id = api.nvim_create_autocmd("FileChangedShell", {
    callback = function(event)
      local gone = vim.v.fcs_reason == "deleted"
      vim.v.fcs_choice = (gone or vim.bo[event.buf].modified) and "" or "reload"
      if vim.bo[event.buf].modified and not gone then
        table.insert(kept, vim.fn.fnamemodify(event.file, ":."))
      end
    end,
  })
  for _, each in ipairs(buffer and { buffer } or api.nvim_list_bufs()) do
    if api.nvim_buf_is_loaded(each) and vim.bo[each].buftype == "" then
      -- One by one: for all at once the editor may put it off to a time when nobody answers its dialog. Not possible in
      -- the command-line window; the editor looks again when that is left.
      pcall(vim.cmd, ("checktime %d"):format(each))
    end
  end
  api.nvim_del_autocmd(id)
  if #kept > 0 then
    local text = "Quillback: changed on disk, and your unsaved text is kept: "
    vim.notify(text .. table.concat(kept, ", "), vim.log.levels.WARN)
  end
end

--- Milliseconds since a buffer was opened here; for ever where the user opened it.
function M.age(buffer)
  return opened[buffer] and vim.uv.now() - opened[buffer] or math.huge
end

--- The text of a buffer, as it would be written.
function M.text(buffer)
  local options = vim.bo[buffer]
  local line_end = options.fileformat == "dos" and "\r\n" or "\n"
  local text = table.concat(api.nvim_buf_get_lines(buffer, 0, -1, true), line_end)
  local ends = options.endofline or (options.fixendofline and not options.binary)
  local empty = text == "" and api.nvim_buf_line_count(buffer) == 1
  return (ends and not (empty and not options.modified)) and text .. line_end or text
end

--- The text of a file, unsaved changes included; nil where there is no such file.
function M.read(path)
  local buffer = M.loaded(path)
  if buffer and (vim.bo[buffer].modified or vim.uv.fs_stat(path)) then
    if not vim.bo[buffer].modified then
      M.refresh(buffer)
    end
    return M.text(buffer)
  end
  local file = io.open(path, "rb")
  local text = file and file:read("*a")
  if file then
    file:close()
  end
  return text
end

--- Begins a new step of undo in the current buffer.
local function break_undo()
  vim.cmd("let &g:undolevels = &g:undolevels")
end

--- Gives a buffer another text, line by line where it differs, as one step of undo: marks and cursors stay.
function M.set_text(buffer, text)
  local options = vim.bo[buffer]
  local ends = text:sub(-1) == "\n"
  if options.fileformat == "dos" then
    text = text:gsub("\r\n", "\n")
  end
  local new = vim.split(ends and text:sub(1, -2) or text, "\n", { plain = true })
  local old = api.nvim_buf_get_lines(buffer, 0, -1, true)
  local both = { table.concat(old, "\n") .. "\n", table.concat(new, "\n") .. "\n" }
  local hunks = vim.diff(both[1], both[2], { result_type = "indices", algorithm = "histogram" })
  options.modifiable = true
  api.nvim_buf_call(buffer, function()
    break_undo()
    for index = #hunks, 1, -1 do
      local first, count, from, number = unpack(hunks[index])
      local start = count == 0 and first or first - 1
      local lines = vim.list_slice(new, from, from + number - 1)
      api.nvim_buf_set_lines(buffer, start, start + count, true, lines)
    end
    break_undo()
  end)
  options.fixendofline = ends
  options.endofline = ends
end

--- Writes a buffer to disk. Raises an error that says why it could not be.
function M.save(buffer)
  api.nvim_buf_call(buffer, function()
    -- With "!": a question whether to overwrite would stop the editor until somebody is there.
    local ok, problem = pcall(vim.cmd, "silent keepalt write! ++p")
    if not ok then
      error((tostring(problem):gsub("^.*Vim%(write%):", "")), 0)
    end
  end)
end

--- Puts a text into a file through its buffer, and on disk unless the user keeps files unsaved.
function M.write(path, text)
  local buffer = M.load(path)
  M.set_text(buffer, text)
  if config.get().save then
    M.save(buffer)
  end
  return buffer
end

-- ---------------------------------------------------------------- requests of the server

--- Takes lines `first` to `first + limit - 1` of a text, with their ends.
local function cut(text, first, limit)
  local out, number = {}, 0
  for line in text:gmatch("[^\n]*\n?") do
    number = number + 1
    if line == "" or (limit and number >= first + limit) then
      break
    end
    if number >= first then
      table.insert(out, line)
    end
  end
  return table.concat(out)
end

function M.serve_read(params, reply)
  local text = M.read(params.path)
  if not text then
    return reply(nil, { code = NOT_FOUND, message = "no such file: " .. params.path })
  end
  if params.line or params.limit then
    text = cut(text, params.line or 1, params.limit)
  end
  reply({ content = text })
end

function M.serve_write(_, params, reply)
  local part = expected[real(params.path)]
  local text = params.content
  if part and part.proposed == text then
    text = part.chosen
    expected[real(params.path)] = nil
  end
  local ok, problem = pcall(M.write, params.path, text)
  if ok then
    reply({})
  else
    reply(nil, { message = ("the editor could not write %s: %s"):format(params.path, problem) })
  end
end

--- From now on a write of `part.proposed` to the path writes `part.chosen`; nil takes that back.
function M.expect(path, part)
  expected[real(path)] = part
end

--- A call has ended: what it wrote past the editor is cut down to what the user took of it.
function M.settle(call_id)
  for path, part in pairs(expected) do
    if part.call == call_id then
      expected[path] = nil
      if M.read(path) == part.proposed then
        M.write(path, part.chosen)
      end
    end
  end
end

return M
