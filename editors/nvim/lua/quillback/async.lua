-- Callbacks read in order: a function that awaits runs in a coroutine and ends in one callback.

local M = {}

--- Runs `work`; calls done(nil, result) or done(error_text) once it has ended.
function M.run(work, done)
  local thread = coroutine.create(work)
  local function step(...)
    local ok, value = coroutine.resume(thread, ...)
    if not ok then
      done(type(value) == "table" and value.message or tostring(value))
    elseif coroutine.status(thread) == "dead" then
      done(nil, value)
    else
      local answered = false
      value(function(...)
        if not answered then
          answered = true
          step(...)
        end
      end)
    end
  end
  step()
end

--- Inside `run`: hands a callback to `start` and waits until it is called; gives what it was called with.
function M.await(start)
  return coroutine.yield(function(resume)
    -- A callback that comes at once would resume a coroutine that has not yielded to its caller yet.
    start(function(...)
      local given = vim.F.pack_len(...)
      vim.schedule(function()
        resume(vim.F.unpack_len(given))
      end)
    end)
  end)
end

--- Inside `run`: waits that many milliseconds.
function M.sleep(milliseconds)
  M.await(function(resume)
    vim.defer_fn(resume, milliseconds)
  end)
end

--- Ends the surrounding `run` with a message for the user or the model, without a trace.
function M.fail(message)
  error({ message = message }, 0)
end

return M
