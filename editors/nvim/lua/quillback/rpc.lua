-- JSON-RPC 2.0 as lines over the pipes of a child process.
--
-- Messages are handled in the order in which they came, in slices: a burst of thousands must not hold up the editor.

local uv = vim.uv

local M = {}

local Connection = {}
Connection.__index = Connection

local SLICE_NS = 8e6
local DECODE = { luanil = { object = true, array = true } }
local STDERR_BYTES = 8192

local REQUEST_CANCELLED = -32800
local METHOD_NOT_FOUND = -32601
local INTERNAL_ERROR = -32603

M.REQUEST_CANCELLED = REQUEST_CANCELLED

--- Starts a server. `options`: command, cwd, env, on_exit(code, signal, stderr), requests and notifications (tables of
--- handlers by method). A request handler gets (params, reply, call); reply(result) or reply(nil, error) answers it,
--- and call.on_cancel, if it sets it, is called when the server withdraws the request.
--- Gives the connection, or nil and why it could not be started.
function M.start(options)
  local self = setmetatable({
    options = options,
    next_id = 0,
    waiting = {},
    serving = {},
    inbox = {},
    head = 1,
    partial = {},
    stderr = "",
    closed = false,
  }, Connection)
  local ok, process = pcall(vim.system, options.command, {
    cwd = options.cwd,
    env = options.env,
    stdin = true,
    stdout = function(_, data)
      self:_read(data)
    end,
    stderr = function(_, data)
      self.stderr = (self.stderr .. (data or "")):sub(-STDERR_BYTES)
    end,
  }, function(result)
    self:_enqueue({ exit = result })
  end)
  if not ok then
    return nil, tostring(process)
  end
  self.process = process
  return self
end

function Connection:pid()
  return self.process.pid
end

--- Sends a request; callback(error, result) comes once. Gives the id, for `cancel`.
function Connection:request(method, params, callback)
  if self.closed then
    vim.schedule(function()
      callback({ code = INTERNAL_ERROR, message = "the Quillback server is not running" })
    end)
    return nil
  end
  self.next_id = self.next_id + 1
  self.waiting[self.next_id] = callback
  self:_send({ jsonrpc = "2.0", id = self.next_id, method = method, params = params })
  return self.next_id
end

function Connection:notify(method, params)
  self:_send({ jsonrpc = "2.0", method = method, params = params })
end

--- Closes the server's input, upon which it ends; kills it if it has not after `grace` milliseconds.
function Connection:stop(grace)
  pcall(self.process.write, self.process, nil)
  local process = self.process
  vim.defer_fn(function()
    if not process:is_closing() then
      process:kill("sigkill")
    end
  end, grace or 3000)
end

function Connection:_send(message)
  if self.closed then
    return
  end
  -- The process may have died a moment ago; its exit is told in on_exit.
  pcall(self.process.write, self.process, vim.json.encode(message) .. "\n")
end

--- In a fast context: cuts what came into lines.
function Connection:_read(data)
  if not data then
    return
  end
  local from = 1
  while true do
    local at = data:find("\n", from, true)
    if not at then
      break
    end
    table.insert(self.partial, data:sub(from, at - 1))
    self:_enqueue({ line = table.concat(self.partial) })
    self.partial = {}
    from = at + 1
  end
  if from <= #data then
    table.insert(self.partial, data:sub(from))
  end
end

function Connection:_enqueue(item)
  table.insert(self.inbox, item)
  if not self.draining then
    self.draining = true
    vim.schedule(function()
      self:_drain()
    end)
  end
end

function Connection:_drain()
  local started = uv.hrtime()
  while self.head <= #self.inbox do
    local item = self.inbox[self.head]
    self.inbox[self.head] = false
    self.head = self.head + 1
    local ok, problem = xpcall(self._dispatch, debug.traceback, self, item)
    if not ok then
      require("quillback.log").error(problem)
    end
    if uv.hrtime() - started > SLICE_NS then
      -- A timer, not schedule: what the user types has its turn in between.
      vim.defer_fn(function()
        self:_drain()
      end, 1)
      return
    end
  end
  self.inbox, self.head, self.draining = {}, 1, false
end

function Connection:_dispatch(item)
  if item.exit then
    return self:_exited(item.exit)
  end
  local ok, message = pcall(vim.json.decode, item.line, DECODE)
  if not ok or type(message) ~= "table" then
    require("quillback.log").warn("not a message: " .. item.line:sub(1, 200))
  elseif message.method and message.id ~= nil then
    self:_serve(message)
  elseif message.method == "$/cancel_request" then
    self:_withdraw(message.params or {})
  elseif message.method then
    local handler = self.options.notifications[message.method]
    if handler then
      handler(message.params or {})
    end
  elseif self.waiting[message.id] then
    local callback = self.waiting[message.id]
    self.waiting[message.id] = nil
    callback(message.error, message.result)
  end
end

function Connection:_serve(message)
  local handler = self.options.requests[message.method]
  if not handler then
    local problem = { code = METHOD_NOT_FOUND, message = "no such method: " .. message.method }
    return self:_send({ jsonrpc = "2.0", id = message.id, error = problem })
  end
  local call = {}
  self.serving[message.id] = call
  local function reply(result, problem)
    if self.serving[message.id] ~= call then
      return
    end
    self.serving[message.id] = nil
    if problem then
      local code = problem.code or INTERNAL_ERROR
      self:_send({ jsonrpc = "2.0", id = message.id, error = { code = code, message = problem.message } })
    else
      self:_send({ jsonrpc = "2.0", id = message.id, result = result or vim.empty_dict() })
    end
  end
  call.reply = reply
  local ok, problem = xpcall(handler, debug.traceback, message.params or {}, reply, call)
  if not ok then
    require("quillback.log").error(problem)
    reply(nil, { message = "the editor failed in " .. message.method })
  end
end

function Connection:_withdraw(params)
  local call = self.serving[params.requestId]
  if call then
    if call.on_cancel then
      call.on_cancel()
    end
    call.reply(nil, { code = REQUEST_CANCELLED, message = "cancelled" })
  end
end

function Connection:_exited(result)
  self.closed = true
  local waiting = self.waiting
  self.waiting, self.serving = {}, {}
  for _, callback in pairs(waiting) do
    callback({ code = INTERNAL_ERROR, message = "the Quillback server ended", ended = true })
  end
  self.options.on_exit(result.code, result.signal, self.stderr)
end

return M
