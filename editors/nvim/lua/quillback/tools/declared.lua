-- The tools of the editor as they are declared to the server.

local PATH = { type = "string", description = "Path of a file, absolute or relative to the session's directory" }
local LINE = { type = "integer", minimum = 1, description = "Line, counted from 1" }
local SYMBOL = { type = "string", description = "The name that is meant, as it stands in that line" }

local function object(properties, required)
  return { type = "object", properties = properties or vim.empty_dict(), required = required or {} }
end

local PLACE = { path = PATH, line = LINE, symbol = SYMBOL }
local AT_PLACE = object(PLACE, { "path", "line", "symbol" })

local function tool(name, title, kind, description, schema)
  return {
    name = name,
    title = title,
    kind = kind,
    description = description,
    inputSchema = schema,
    readOnly = kind == "read" or kind == "search",
  }
end

local function with(properties, more)
  return vim.tbl_extend("error", vim.deepcopy(properties), more)
end

return {
  tool("diagnostics", "Diagnostics", "read", "Errors and warnings that the editor's language servers and linters "
    .. "report now, of one file or, without a path, of all that are open", object({
    path = PATH,
    afterEdit = { type = "boolean", description = "Wait until the language servers have seen the present text" },
  })),
  tool("definition", "Go to definition", "search", "Where a name is defined, by the language server", AT_PLACE),
  tool("references", "Find references", "search", "All places that use a name, by the language server", AT_PLACE),
  tool("hover", "Hover", "read", "Type and documentation of a name, by the language server", AT_PLACE),
  tool("document_symbols", "Symbols of a file", "search", "The classes, functions and so on of a file, by the "
    .. "language server", object({ path = PATH }, { "path" })),
  tool("workspace_symbols", "Symbols of the workspace", "search", "Finds symbols of the whole workspace by name, by "
    .. "the language server", object({ query = { type = "string" } }, { "query" })),
  tool("open_buffers", "Open files", "read", "The files that are open in the editor, and which have unsaved changes",
    object()),
  tool("selection", "Selection", "read", "What the user has selected in the editor, and where the cursor is", object()),
  tool("rename_symbol", "Rename", "edit", "Renames a name everywhere it is used, by the language server. Prefer this "
    .. "to editing each place", object(with(PLACE, { new_name = { type = "string" } }),
    { "path", "line", "symbol", "new_name" })),
  tool("code_actions", "Code actions", "search", "Lists the fixes and refactorings that the language server offers for "
    .. "some lines", object({ path = PATH, line = LINE, end_line = LINE }, { "path", "line" })),
  tool("apply_code_action", "Apply code action", "edit", "Applies one of the actions that code_actions lists",
    object({ path = PATH, line = LINE, end_line = LINE, title = { type = "string" } }, { "path", "line", "title" })),
  tool("format_file", "Format", "edit", "Formats a file with the language server", object({ path = PATH }, { "path" })),
  tool("apply_edit", "Edit in the editor", "edit", "Changes several files in one step that the user can undo. Each "
    .. "old_text must occur exactly once in its file", object({
    edits = {
      type = "array",
      minItems = 1,
      items = object({ path = PATH, old_text = { type = "string" }, new_text = { type = "string" } },
        { "path", "old_text", "new_text" }),
    },
  }, { "edits" })),
  tool("quickfix", "Quickfix list", "other", "Shows the user a list of places to go through", object({
    title = { type = "string" },
    items = {
      type = "array",
      items = object({ path = PATH, line = LINE, text = { type = "string" } }, { "path", "line", "text" }),
    },
  }, { "items" })),
}
