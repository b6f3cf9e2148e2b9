-- Questions of the server with fields to fill in: shown in the chat, asked field by field once the user turns to them.

local async = require("quillback.async")
local config = require("quillback.config")
local questions = require("quillback.questions")

local M = {}

local function choose(title, items, label)
  return async.await(function(resume)
    vim.ui.select(items, { prompt = title, format_item = label }, resume)
  end)
end

--- The allowed values of a field with their names; nil for a free one.
local function values_of(field)
  if field.type == "boolean" then
    return { { const = true, title = "Yes" }, { const = false, title = "No" } }
  end
  if field.oneOf then
    return field.oneOf
  end
  return field.enum and vim.tbl_map(function(value)
    return { const = value, title = value }
  end, field.enum)
end

local function several(title, field)
  local left, chosen = vim.list_slice(field.items.enum or {}), {}
  for _, option in ipairs(field.items.anyOf or {}) do
    table.insert(left, option.const)
  end
  local done = "(done)"
  while #left > 0 do
    local item = choose(title, vim.list_extend({ done }, left))
    if item == nil then
      return nil
    elseif item == done then
      break
    end
    table.insert(chosen, item)
    left = vim.tbl_filter(function(other)
      return other ~= item
    end, left)
  end
  return chosen
end

--- Asks for one field; nil where the user gave up.
local function ask_field(name, field)
  local title = (field.title or name) .. (field.description and " (" .. field.description .. ")" or "")
  if field.type == "array" then
    return several(title, field)
  end
  local values = values_of(field)
  if values then
    local item = choose(title, values, function(value)
      return value.title or tostring(value.const)
    end)
    return item and item.const
  end
  local text = async.await(function(resume)
    vim.ui.input({ prompt = title .. ": ", default = field.default and tostring(field.default) }, resume)
  end)
  if text and (field.type == "number" or field.type == "integer") then
    return tonumber(text)
  end
  return text
end

local function fill_in(schema)
  local content = {}
  local names = vim.tbl_keys(schema.properties or {})
  table.sort(names)
  for _, name in ipairs(names) do
    local value = ask_field(name, schema.properties[name])
    if value == nil and vim.tbl_contains(schema.required or {}, name) then
      return nil
    end
    content[name] = value
  end
  return next(content) and content or vim.empty_dict()
end

--- Handles elicitation/create.
function M.ask(session, params, reply, call)
  local keys = config.get().keys
  local entry = session.transcript:note(params.message)
  local spec = {
    title = "Your answer?",
    choices = {
      { id = "accept", name = "Answer", kind = "allow_once", key = keys.allow },
      { id = "decline", name = "Decline", kind = "reject_once", key = keys.reject },
    },
    withdrawn = function()
      reply({ action = "cancel" })
    end,
  }
  local question = questions.open(session, entry, spec, function(choice)
    if choice ~= "accept" then
      return reply({ action = "decline" })
    end
    async.run(function()
      return fill_in(params.requestedSchema or {})
    end, function(_, content)
      reply(content and { action = "accept", content = content } or { action = "cancel" })
    end)
  end)
  call.on_cancel = question.withdraw
end

return M
