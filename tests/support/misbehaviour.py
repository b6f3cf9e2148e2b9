"""For every rule of `quillback check` an agent that breaks it: scripts for the mock agent, and a naive agent."""
# ruff: noqa: E501 - a message of a script is one line

from attrs import frozen


@frozen
class Misbehaviour:
    """All of `breaks` must fail for an agent that plays `script`. `timeout`: seconds that it may leave unanswered."""

    name: str
    script: str
    breaks: tuple[str, ...]
    prompts: tuple[str, ...] = ("hello",)
    long_prompt: str = "go on"
    timeout: float = 20.0


def _(name: str, breaks: str, script: str, **more: object) -> Misbehaviour:
    ids = tuple(f"ACP-{part}" for part in breaks.split())
    return Misbehaviour(name, script, ids, **more)  # type: ignore[arg-type]


QUICK = 4.0
# A turn that goes on until it is cancelled; all others end at once.
LONG = "if params.prompt.0.text=go on: say: x\nif params.prompt.0.text=go on: until-cancel\n"

HANDSHAKE = (
    _("version as text", "INIT-001 INIT-002 INIT-007", 'on initialize\ndefault: {"protocolVersion": "1"}'),
    _(
        "echoes versions",
        "INIT-003 INIT-004",
        'on initialize\ndefault: {"protocolVersion": "${params.protocolVersion}"}',
    ),
    _("wants just what it knows", "INIT-005 INIT-006 INIT-012", "on initialize\nerror: -32602 what is this?"),
    _(
        "says too little and too much",
        "INIT-008 INIT-009",
        'on initialize\ndefault: {"agentInfo": null, "agentCapabilities": {"teleport": true}}',
    ),
    _("sessions before initialize", "INIT-010", 'on session/new\nanswer: {"sessionId": "x"}'),
    _("dies of an early request", "INIT-011", "on session/new\nexit: 1"),
    _(
        "odd ways to log in",
        "AUTH-001 AUTH-002 AUTH-003",
        """
        on initialize
        default: {"authMethods": [{"type": "terminal", "id": "a", "name": "A"}, {"id": "a", "name": "B"}]}
        on authenticate
        answer: {}
        """,
    ),
    _("no way to log in", "AUTH-004", "on session/new\nerror: -32000 Log in first"),
)
SESSIONS = (
    _("no session id", "NEW-001", "on session/new\nanswer: {}"),
    _(
        "one session for all",
        "NEW-002 NEW-004 NEW-005 RPC-008 RPC-009",
        'on session/new\nanswer: {"sessionId": "same"}',
    ),
    _("a session of a wrong shape", "NEW-003", 'on session/new\ndefault: {"modes": {"currentModeId": 5}}'),
    _("no answer to session/new", "NEW-006", "on session/new\nno-answer", timeout=QUICK),
    _(
        "sessions for simple clients only",
        "NEW-007 NEW-009 EXT-003",
        """
        on session/new
        if params.mcpServers!=[]: error: -32603 no servers
        if params.additionalDirectories!=: error: -32603 no directories
        if params.futureField!=: error: -32602 unknown field
        """,
    ),
    _("servers are not started", "NEW-008", "say: hello"),
    _(
        "talks before the session is there",
        "NEW-010",
        """
        on session/new
        notify: session/update {"sessionId": "mock-1", "update": {"sessionUpdate": "session_info_update", "title": "x"}}
        default
        """,
    ),
)
PROMPTS = (
    _(
        "an unknown stop reason",
        "PROMPT-001 PROMPT-003 PROMPT-008 LOAD-006 RESUME-005 UPD-011",
        'say: x\nanswer: {"stopReason": "tired"}',
    ),
    _("two answers", "PROMPT-002 RPC-014", "answer: end_turn\nanswer: end_turn"),
    _(
        "text only",
        "PROMPT-004 PROMPT-005 PROMPT-006 PROMPT-007 EXT-004",
        """
        if params.prompt.1.type=resource_link: error: -32602 text only
        if params.prompt.1.type=image: error: -32602 text only
        if params.prompt.1.type=audio: error: -32602 text only
        if params.prompt.1.type=resource: error: -32602 text only
        if params._meta!=: error: -32602 unknown field _meta
        """,
    ),
    _(
        "takes any prompt and says nothing",
        "PROMPT-009 PROMPT-010 PROMPT-011 PROMPT-012 PROMPT-014",
        "unchecked\nanswer: end_turn",
    ),
    _(
        "one thing at a time",
        "PROMPT-013",
        """
        if params.prompt.0.text=go on: say: x
        if params.prompt.0.text=go on: wait: 1s
        on session/new
        wait: 1500ms
        default
        """,
    ),
    _("goes on after the answer", "PROMPT-015", "say: x\nanswer: end_turn\nsay: y"),
    _("echoes the user", "PROMPT-016", "user: ${prompt}\nsay: x"),
)
TOOLS = (
    _(
        "careless tool calls",
        "TOOL-001 TOOL-002 TOOL-003 TOOL-004 TOOL-005 TOOL-006 TOOL-007 TOOL-008 TOOL-009",
        """
        update: tool_call_update {"toolCallId": "ghost", "status": "completed"}
        update: tool_call {"toolCallId": "a", "title": " ", "status": "completed", "locations": [{"path": "x", "line": 0}]}
        update: tool_call_update {"toolCallId": "a", "status": "in_progress"}
        update: tool_call {"toolCallId": "a", "title": "again", "content": [{"type": "diff", "path": "x", "newText": "y"}]}
        """,
    ),
    _(
        "careless questions",
        "PERM-001 PERM-002 PERM-003 PERM-004 PERM-005",
        """
        permission: {"toolCall": {"toolCallId": "x"}, "options": [{"optionId": "a", "name": "A", "kind": "x"}, {"optionId": "a", "name": "A", "kind": "allow_once"}]}
        answer: end_turn
        send: session/request_permission {"toolCall": {"toolCallId": "x", "title": "X"}, "options": []}
        """,
    ),
    _(
        "does it anyway",
        "PERM-006 PERM-008 PERM-009 PERM-010",
        """
        ignore-cancel
        update: tool_call {"toolCallId": "p-${turn}", "title": "Write"}
        permission: {"toolCall": {"toolCallId": "p-${turn}", "title": "Write"}}
        if error: error: -32603 nobody there
        if error: stop
        update: tool_call_update {"toolCallId": "p-${turn}", "status": "completed"}
        answer: end_turn
        """,
    ),
    _(
        "waits for the client",
        "PERM-007",
        'ignore-cancel\npermission: {"toolCall": {"toolCallId": "p", "title": "Write"}}\nanswer: cancelled',
        timeout=QUICK,
    ),
)
CANCELS = (
    _(
        "a cancel is no end",
        "CANCEL-001",
        "ignore-cancel\nsay: x\nif params.prompt.0.text=go on: wait: 2s\nanswer: end_turn",
    ),
    _("cancelled for ever", "CANCEL-002 CANCEL-004", LONG + "answer: cancelled"),
    _("dies of a cancel", "CANCEL-003 CANCEL-005 CANCEL-006", LONG + "answer: end_turn\non session/cancel\nexit: 1"),
    _("ignores $/cancel_request", "CANCEL-007", LONG + "on $/cancel_request\nwait: 1ms"),
    _("dies of $/cancel_request", "CANCEL-008", "on $/cancel_request\nexit: 1"),
    _(
        "fails when it is cancelled early",
        "CANCEL-010",
        "ignore-cancel\nif params.prompt.0.text=go on: wait: 100ms\nif params.prompt.0.text=go on: error: -32603 aborted",
    ),
    _("talks after a cancel", "CANCEL-009", LONG + "if params.prompt.0.text=go on: answer: cancelled\nsay: late"),
)
SETTINGS = (
    _(
        "wrong current values",
        "MODE-001 OPT-001 OPT-007",
        """
        on session/new
        default: {"modes": {"currentModeId": "nowhere"}, "configOptions": [{"id": "mode", "name": "M", "category": "mode", "type": "select", "currentValue": "x", "options": [{"value": "y", "name": "Y"}, {"value": "y", "name": "Y"}]}]}
        """,
    ),
    _("no mode can be set", "MODE-002", "on session/set_mode\nerror: -32603 no"),
    _("takes any mode", "MODE-003 MODE-004 MODE-005", "on session/set_mode\nanswer: {}"),
    _("is in an unknown mode", "MODE-006", 'update: current_mode_update {"currentModeId": "nowhere"}'),
    _(
        "takes any option and tells nothing",
        "OPT-002 OPT-003 OPT-004 OPT-005 OPT-006",
        'on session/set_config_option\nanswer: {"configOptions": []}',
    ),
    _(
        "booleans for all",
        "OPT-008",
        'on session/new\ndefault: {"configOptions": [{"id": "b", "name": "B", "type": "boolean", "currentValue": true}]}',
    ),
    _(
        "half of the options",
        "OPT-009",
        'update: config_option_update {"configOptions": [{"id": "model", "name": "M", "category": "model", "type": "select",'
        ' "currentValue": "mock-1", "options": [{"value": "mock-1", "name": "M"}]}]}',
    ),
)
STORED = (
    _("cannot load", "LOAD-001", "on session/load\nerror: -32603 no"),
    _(
        "replays too late",
        "LOAD-002 LOAD-003 LOAD-004 LOAD-005",
        "say: x\non session/load\nanswer: {}\nsay: x",
    ),
    _("forgets when it ends", "LOAD-007", "say: x"),
    _("cannot resume", "RESUME-001", "on session/resume\nerror: -32603 no"),
    _("resume replays", "RESUME-002 RESUME-003 RESUME-004", "on session/resume\nsay: x\nanswer: {}"),
    _("a list of nothing", "LIST-001", 'on session/list\nanswer: {"sessions": "none"}'),
    _(
        "one list for all",
        "LIST-002 LIST-003 LIST-004 LIST-005",
        'on session/list\nanswer: {"sessions": [{"sessionId": "x", "cwd": "/x"}], "nextCursor": "1"}',
    ),
    _("cannot close", "CLOSE-001", "on session/close\nerror: -32603 no"),
    _("closes nothing", "CLOSE-002 CLOSE-003", LONG + "on session/close\nanswer: {}", timeout=QUICK),
    _("dies of a close", "CLOSE-004", "on session/close\nexit: 1"),
    _("cannot delete", "DELETE-001 DELETE-003", "on session/delete\nerror: -32603 no"),
    _("deletes nothing", "DELETE-002", "on session/delete\nanswer: {}"),
)
WIRE = (
    _(
        "wrong ids",
        "RPC-001 RPC-002 RPC-003 RPC-004 RPC-005",
        'on unknown\n<- {"jsonrpc": "2.0", "id": "no ${id}", "error": {"code": -32601, "message": "x"}}\nno-answer',
        timeout=QUICK,
    ),
    _("knows every method", "RPC-006 RPC-007 EXT-002", "on unknown\nanswer: {}"),
    _(
        "answers notifications",
        "RPC-010",
        'on _quillback.dev/check\n<- {"jsonrpc": "2.0", "id": null, "error": {"code": -32601, "message": "x"}}',
    ),
    _("leaves requests unanswered", "RPC-011 EXT-001", "on unknown\nno-answer", timeout=QUICK),
    _("dies of a stray answer", "RPC-012", "on stray\nexit: 1"),
    _(
        "result and error",
        "RPC-013",
        '<- {"jsonrpc": "2.0", "id": "${id}", "result": {"stopReason": "end_turn"}, "error": {"code": 1, "message": "x"}}\n'
        "no-answer",
    ),
    _("odd errors", "RPC-015 RPC-016", 'on unknown\nerror: {"code": "x", "message": "a\\nb"}'),
    _(
        "one id for two requests",
        "RPC-017",
        """
        <- {"jsonrpc": "2.0", "id": null, "method": "session/request_permission", "params": {}}
        <- {"jsonrpc": "2.0", "id": null, "method": "session/request_permission", "params": {}}
        """,
    ),
    _(
        "dies of odd lines",
        "LINE-001 LINE-003 LINE-005 LINE-006 LINE-007 LINE-008",
        "on broken\nexit: 1\non invalid\nexit: 1\non batch\nexit: 1",
    ),
    _("is silent about odd lines", "LINE-002 LINE-004", "on broken\nwait: 1ms\non invalid\nwait: 1ms"),
    _(
        "odd lines of its own",
        "WIRE-008 WIRE-009 WIRE-010 WIRE-011",
        r"""
        raw: hello\n\n
        raw: {"jsonrpc":"2.0","method":"_x"}\r\n
        <- {"id": "${id}", "result": {"stopReason": "end_turn"}}
        no-answer
        """,
    ),
    _("does not end", "END-001 END-002", "on eof\nhang", timeout=10.0),
)
OBSERVED = (
    _(
        "careless updates",
        "UPD-001 UPD-002 UPD-003 UPD-004 UPD-005 UPD-006 UPD-007 UPD-008 UPD-009 UPD-010",
        """
        update: hologram {}
        update: agent_message_chunk {"content": {"type": "text", "text": 5}, "messageId": "a"}
        update: agent_message_chunk {"content": {"type": "text", "text": "x"}, "messageId": "b"}
        update: agent_message_chunk {"content": {"type": "text", "text": "x"}, "messageId": "a"}
        update: agent_message_chunk {"content": {"type": "text", "text": "x"}}
        notify: session/update {"sessionId": "foreign", "update": {"sessionUpdate": "session_info_update", "title": "x"}}
        update: plan_removed {"planId": "x"}
        update: plan {"entries": [{"content": "x", "priority": "urgent", "status": "pending"}]}
        update: usage_update {"used": -1, "size": 10}
        update: available_commands_update {"availableCommands": [{"name": "/a b", "description": "x"}]}
        update: session_info_update {"updatedAt": "yesterday"}
        """,
    ),
    _(
        "talks without being asked",
        "UPD-012",
        """
        on session/new
        default
        notify: session/update {"sessionId": "mock-1", "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}}}
        """,
    ),
    _(
        "serves what it does not declare",
        "EXT-005",
        'on initialize\ndefault: {"agentCapabilities": {"loadSession": false}}',
    ),
    _(
        "own fields and nulls",
        "EXT-006 EXT-007 EXT-008",
        'update: agent_message_chunk {"content": {"type": "text", "text": "x"}, "messageId": null, "mood": 1}\nanswer: null',
    ),
    _(
        "asks for whatever it likes",
        "CLIENT-001 CLIENT-002 CLIENT-003 CLIENT-004 CLIENT-005 CLIENT-006 CLIENT-007 CLIENT-008",
        """
        ask: fs/read_text_file {"path": "notes.txt"}
        ask: terminal/create {"cwd": "${cwd}"}
        ask: elicitation/create {"mode": "form", "message": "x", "requestedSchema": {"type": "object"}}
        ask: session/make_coffee
        update: tool_call {"toolCallId": "t", "title": "T", "status": "completed", "content": [{"type": "terminal", "terminalId": "mine"}]}
        """,
    ),
)
MISBEHAVIOURS = (
    *HANDSHAKE,
    *SESSIONS,
    *PROMPTS,
    *TOOLS,
    *CANCELS,
    *SETTINGS,
    *STORED,
    *WIRE,
    *OBSERVED,
)

# What a naive way of reading lines breaks: see naive_agent.py.
NAIVE = {
    "a-read-is-a-message": ("WIRE-001", "WIRE-002"),
    "plain-line-ends": ("WIRE-003",),
    "no-empty-lines": ("WIRE-004",),
    "short-lines": ("WIRE-005", "WIRE-006"),
    "no-pairs": ("WIRE-007",),
}

# A script that does everything there is, well.
GOOD = """
scenario good
if params.prompt.0.text=go on: pace: 100ms
if params.prompt.0.text=go on: say*100: word\\s
if params.prompt.0.text=go on: stop
think: I will do everything.
update: plan {"entries": [{"content": "All", "priority": "high", "status": "in_progress"}]}
update: usage_update {"used": 10, "size": 100}
update: current_mode_update {"currentModeId": "ask"}
update: session_info_update {"title": "A title", "updatedAt": "2026-12-01T12:00:00Z"}
update: tool_call {"toolCallId": "c-${turn}", "title": "Write", "kind": "edit", "status": "pending", "locations": [{"path": "${cwd}/x", "line": 1}], "content": [{"type": "diff", "path": "${cwd}/x", "newText": "x"}]}
permission: {"toolCall": {"toolCallId": "c-${turn}", "title": "Write"}}
if choice=allow_once: update: tool_call_update {"toolCallId": "c-${turn}", "status": "completed"}
if choice!=allow_once: update: tool_call_update {"toolCallId": "c-${turn}", "status": "failed"}
if offered.fs.readTextFile=true: ask: fs/read_text_file {"path": "${cwd}/notes.txt"}
if offered.terminal=true: ask: terminal/create {"command": "true", "cwd": "${cwd}"}
if offered.terminal=true: update: tool_call {"toolCallId": "t-${turn}", "title": "true", "status": "completed", "content": [{"type": "terminal", "terminalId": "${terminal}"}]}
if offered.terminal=true: ask: terminal/release {"terminalId": "${terminal}"}
say: Done.
"""
# Good behaviour that one agent cannot show beside the rest.
GOOD_ALONE = {
    "AUTH-003": 'on initialize\ndefault: {"authMethods": [{"id": "a", "name": "A"}]}\non authenticate\nerror: -32602 no',
    "AUTH-004": 'on initialize\ndefault: {"authMethods": [{"id": "a", "name": "A"}]}\non session/new\nerror: -32000 no',
    "EXT-005": 'on initialize\ndefault: {"agentCapabilities": {"loadSession": false}}\non session/load\nerror: -32601 no',
}
# The mock starts no MCP servers and keeps nothing on disk; Quillback does.
GOOD_ELSEWHERE = {"ACP-NEW-008", "ACP-LOAD-007"}
