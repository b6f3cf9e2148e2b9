-- Permission questions of the server. A review may take only some hunks of a proposed change.

local config = require("quillback.config")
local files = require("quillback.files")
local questions = require("quillback.questions")

local M = {}

local KEYS = {
  allow_once = "allow",
  allow_always = "allow_always",
  reject_once = "reject",
  reject_always = "reject_always",
}

local function choices(options, reviewable)
  local keys = config.get().keys
  local list = vim.tbl_map(function(option)
    return { id = option.optionId, name = option.name, kind = option.kind, key = keys[KEYS[option.kind]] }
  end, options)
  if reviewable and keys.review then
    table.insert(list, { name = "Review hunk by hunk", kind = "review", key = keys.review })
  end
  return list
end

local function diffs_of(call)
  return vim.tbl_filter(function(block)
    return block.type == "diff"
  end, call.content or {})
end

--- What the model is told of a change that was taken in part.
function M.partial_note(path, review)
  local word = table.concat(review.taken, ", ")
  return (
    "Of your change to %s the user took only part: hunk %s of %d. The rest was not applied. "
    .. "Read the file again before you change it, and do not bring back what was rejected unless you are asked to."
  ):format(vim.fn.fnamemodify(path, ":."), word, review.total)
end

local function take_in_part(session, call, reviewed)
  for _, review in ipairs(reviewed) do
    if review.partial then
      files.expect(review.path, { proposed = review.proposed, chosen = review.chosen, call = call.toolCallId })
      session:steer({ { type = "text", text = M.partial_note(review.path, review) } })
    end
  end
end

--- Handles session/request_permission.
function M.ask(session, params, reply, call)
  local told = params.toolCall
  local entry = session.transcript:tool(told)
  local diffs = diffs_of(entry.call)
  local spec = {
    title = "May this run?",
    choices = choices(params.options, #diffs > 0),
    diffs = diffs,
    withdrawn = function()
      reply({ outcome = { outcome = "cancelled" } })
    end,
  }
  local question = questions.open(session, entry, spec, function(option, reviewed)
    for _, block in ipairs(diffs) do
      files.expect(block.path, nil)
    end
    take_in_part(session, told, reviewed or {})
    reply({ outcome = { outcome = "selected", optionId = option } })
  end)
  call.on_cancel = question.withdraw
end

return M
