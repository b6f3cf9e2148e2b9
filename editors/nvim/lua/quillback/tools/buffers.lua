-- Tools about the editor itself: open files, the selection, the quickfix list.

local context = require("quillback.context")

local api = vim.api

local M = {}

function M.open_buffers(_, job)
  local lines, locations = {}, {}
  local active = context.active()
  for _, buffer in ipairs(api.nvim_list_bufs()) do
    local name = api.nvim_buf_get_name(buffer)
    if name ~= "" and vim.bo[buffer].buflisted and vim.bo[buffer].buftype == "" then
      local notes = {}
      if buffer == active then
        table.insert(notes, "active")
      end
      if vim.bo[buffer].modified then
        table.insert(notes, "unsaved changes")
      end
      local note = #notes > 0 and " (" .. table.concat(notes, ", ") .. ")" or ""
      table.insert(lines, (vim.fs.relpath(job.session.cwd, name) or name) .. note)
      table.insert(locations, { path = name })
    end
  end
  return #lines > 0 and table.concat(lines, "\n") or "No file is open.", locations
end

--- The lines of the selection that is pinned, else those of the active file's last one.
local function selected_range(buffer)
  local pinned = context.pinned()
  if pinned then
    return pinned.buffer, pinned.first, pinned.last
  end
  local first = api.nvim_buf_get_mark(buffer, "<")[1]
  local last = api.nvim_buf_get_mark(buffer, ">")[1]
  if first > 0 and last <= api.nvim_buf_line_count(buffer) then
    return buffer, first, last
  end
end

function M.selection(_, job)
  local active, window = context.active()
  if not active then
    return "No file is active."
  end
  local name = api.nvim_buf_get_name(active)
  local short = vim.fs.relpath(job.session.cwd, name) or name
  local text = ("The cursor is in %s, line %d."):format(short, window and api.nvim_win_get_cursor(window)[1] or 1)
  local buffer, first, last = selected_range(active)
  if not buffer then
    return text .. " Nothing is selected."
  end
  local lines = table.concat(api.nvim_buf_get_lines(buffer, first - 1, last, false), "\n")
  local where = vim.fs.relpath(job.session.cwd, api.nvim_buf_get_name(buffer)) or api.nvim_buf_get_name(buffer)
  return ("%s\nLast selected, %s lines %d to %d:\n%s"):format(text, where, first, last, lines),
    { { path = api.nvim_buf_get_name(buffer), line = first } }
end

function M.quickfix(arguments, job)
  local items = vim.tbl_map(function(item)
    return {
      filename = require("quillback.tools").path(job.session, item.path),
      lnum = item.line,
      text = item.text,
    }
  end, arguments.items or {})
  vim.fn.setqflist({}, " ", { title = arguments.title or "Quillback", items = items })
  local window = api.nvim_get_current_win()
  vim.cmd("botright copen")
  if api.nvim_win_is_valid(window) then
    api.nvim_set_current_win(window)
  end
  return ("The user sees a list of %d places."):format(#items)
end

return M
