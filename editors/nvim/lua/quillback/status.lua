-- The lines above the two windows of a chat: title, mode, model, context and cost; what goes along with the prompt.

local context = require("quillback.context")

local M = {}

local function escape(text)
  return (text:gsub("%%", "%%%%"))
end

local function short(tokens)
  if tokens >= 1e6 then
    return ("%.1fM"):format(tokens / 1e6)
  end
  return tokens >= 1000 and ("%.1fk"):format(tokens / 1000) or tostring(tokens)
end

--- How full the context window is, and what the session has cost; empty where nothing is known.
function M.meter(usage)
  if not usage then
    return ""
  end
  local share = usage.size > 0 and math.floor(100 * usage.used / usage.size + 0.5) or 0
  local filled = math.min(math.floor(share / 10 + 0.5), 10)
  local bar = ("▰"):rep(filled) .. ("▱"):rep(10 - filled)
  local text = ("%s %s/%s %d%%"):format(bar, short(usage.used), short(usage.size), share)
  if usage.cost then
    text = text .. (" $%.4f"):format(usage.cost.amount)
  end
  return text
end

local function value_name(session, id)
  local option = session:option(id)
  for _, value in ipairs(option and option.options or {}) do
    if value.value == option.currentValue then
      return value.name
    end
  end
  return option and tostring(option.currentValue)
end

local function state(session)
  if session.is_lost then
    return "server stopped"
  elseif #session.questions > 0 then
    return "waits for you"
  elseif session.cancelling and session.running then
    return "cancelling"
  elseif session.running then
    return "working"
  end
  return session.id and "ready" or "starting"
end

function M.chat_line(session)
  local parts = { state(session) }
  local meter = M.meter(session.usage)
  if meter ~= "" then
    table.insert(parts, meter)
  end
  for _, id in ipairs({ "mode", "model" }) do
    table.insert(parts, value_name(session, id))
  end
  -- Where there is no room the title gives way, then the model.
  local title = escape(session.title or "Quillback")
  return (" %s %%<· %s"):format(escape(table.concat(parts, " · ")), title)
end

function M.input_line(chat)
  if chat.editing then
    return " Sending replaces an earlier prompt; cancel keeps it"
  end
  local parts = {}
  for _, kind in ipairs(context.KINDS) do
    local shown = kind
    if kind == "selection" and context.pinned() then
      local selection = context.pinned()
      shown = ("selection %d-%d"):format(selection.first, selection.last)
    end
    table.insert(parts, (context.is_on(kind) and "+" or "-") .. shown)
  end
  local queued = #chat.session.queue
  local text = (chat.session.running and "Queue or steer" or "Prompt") .. "  " .. table.concat(parts, " ")
  return " " .. escape(queued > 0 and ("%s  %d queued"):format(text, queued) or text)
end

return M
