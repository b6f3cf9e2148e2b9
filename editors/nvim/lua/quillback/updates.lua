-- What each kind of session/update means for a session.

local files = require("quillback.files")

local M = {
  agent_message_chunk = function(session, update)
    if update.content.type == "text" then
      session.transcript:say("agent", update.messageId, update.content.text)
    end
  end,
  agent_thought_chunk = function(session, update)
    session.transcript:say("thought", update.messageId, update.content.text or "")
  end,
  user_message_chunk = function(session, update)
    session.transcript:prompt_block(update.messageId, update.content, { steered = session.running })
  end,
  tool_call = function(session, update)
    session.transcript:tool(update)
  end,
  tool_call_update = function(session, update)
    local entry = session.transcript:tool(update)
    if update.status == "completed" or update.status == "failed" then
      files.settle(update.toolCallId)
    end
    if update.status == "completed" and vim.tbl_contains({ "edit", "execute", "delete", "move" }, entry.call.kind) then
      files.refresh()
    end
  end,
  plan = function(session, update)
    session.transcript:planned(update.entries)
  end,
  available_commands_update = function(session, update)
    session.commands = update.availableCommands or {}
  end,
  current_mode_update = function(session, update)
    local mode = session:option("mode")
    if mode then
      mode.currentValue = update.currentModeId
    end
    session.watcher.changed()
  end,
  config_option_update = function(session, update)
    session.options = update.configOptions
    session.watcher.changed()
  end,
  session_info_update = function(session, update)
    session.title = update.title or session.title
    session.watcher.changed()
  end,
  usage_update = function(session, update)
    session.usage = update
    session.watcher.changed()
  end,
  notice = function(session, update)
    session.transcript:note(update.title .. (update.description and "\n" .. update.description or ""), update.severity)
  end,
  compaction_update = function(session, update)
    local words = { in_progress = "Making room: the conversation is being summarised.", completed = "Room was made." }
    session.transcript:note(words[update.status] or ("Summarising ended: " .. (update.error or update.status)))
  end,
}

return M
