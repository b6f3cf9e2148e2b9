import pytest

from quillback_protocol import acp
from quillback_protocol.converter import WireError, get_converter, structure, unstructure
from quillback_protocol.extensions import (
    META_KEY,
    ClientDeclaration,
    PromptResult,
    SteerRequest,
    Supersedes,
    TurnUsage,
    client_declaration,
    to_meta,
)
from quillback_protocol.jsonrpc import InvalidParams

TEXT = {"type": "text", "text": "hi"}


def problem(kind, obj) -> str:
    with pytest.raises(InvalidParams) as caught:
        structure(kind, obj)
    assert caught.value.code == -32602
    return caught.value.message


def prompt(*blocks):
    return {"sessionId": "s", "prompt": list(blocks)}


@pytest.mark.parametrize(
    ("kind", "obj", "message"),
    [
        (acp.PromptRequest, prompt({"type": "text", "text": 5}), "prompt[0].text: expected a string, got number"),
        (acp.PromptRequest, prompt(TEXT, {"type": "text"}), "prompt[1].text: required field is missing"),
        (acp.PromptRequest, prompt({"text": "x"}), "prompt[0].type: required field is missing"),
        (acp.PromptRequest, prompt("hi"), "prompt[0]: expected an object, got string"),
        (acp.PromptRequest, {"sessionId": "s", "prompt": "hi"}, "prompt: expected an array, got string"),
        (acp.PromptRequest, {"sessionId": "s", "prompt": None}, "prompt: expected an array, got null"),
        (acp.PromptRequest, {"prompt": []}, "sessionId: required field is missing"),
        (acp.PromptRequest, {"sessionId": None, "prompt": []}, "sessionId: expected a string, got null"),
        (acp.PromptRequest, [], "expected an object, got array"),
        (
            acp.PromptRequest,
            prompt({"type": "resource", "resource": {"uri": "x"}}),
            "prompt[0].resource: expected a field named text or blob",
        ),
        (
            acp.PromptRequest,
            prompt({"type": "resource", "resource": {"uri": 1, "text": ""}}),
            "prompt[0].resource.uri: expected a string, got number",
        ),
        (acp.NewSessionRequest, {"cwd": 5}, "cwd: expected a string, got number"),
        (acp.NewSessionRequest, {"cwd": True}, "cwd: expected a string, got boolean"),
        (acp.NewSessionRequest, {"cwd": ["/"]}, "cwd: expected a string, got array"),
        (
            acp.NewSessionRequest,
            {"cwd": "/", "mcpServers": [{"name": "x"}]},
            "mcpServers[0].command: required field is missing",
        ),
        (
            acp.NewSessionRequest,
            {"cwd": "/", "mcpServers": [{"name": "x", "command": "c", "args": [], "env": {"A": "b"}}]},
            "mcpServers[0].env: expected an array, got object",
        ),
        (
            acp.NewSessionRequest,
            {"cwd": "/", "mcpServers": [{"type": "carrier-pigeon"}]},
            'mcpServers[0].type: expected one of "http", "sse", "acp", "stdio", got "carrier-pigeon"',
        ),
        (acp.NewSessionRequest, {"cwd": "/", "mcpServers": {}}, "mcpServers: expected an array, got object"),
        (
            acp.NewSessionRequest,
            {"cwd": "/", "additionalDirectories": ["/a", 5]},
            "additionalDirectories[1]: expected a string, got number",
        ),
        (acp.ListSessionsRequest, {"cursor": 5}, "cursor: expected a string, got number"),
        (acp.InitializeRequest, {"protocolVersion": "1"}, "protocolVersion: expected an integer, got string"),
        (acp.InitializeRequest, {"protocolVersion": True}, "protocolVersion: expected an integer, got boolean"),
        (acp.InitializeRequest, {"protocolVersion": 1.0}, "protocolVersion: expected an integer, got number"),
        (
            acp.SetSessionConfigOptionRequest,
            {"sessionId": "s", "configId": "c", "value": 1},
            "value: expected a string or a boolean, got number",
        ),
        (acp.CancelRequestNotification, {"requestId": 1.5}, "requestId: expected a string or an integer, got number"),
        (acp.CancelRequestNotification, {}, "requestId: required field is missing"),
        (
            acp.ReadTextFileRequest,
            {"sessionId": "s", "path": "/", "line": "1"},
            "line: expected an integer, got string",
        ),
        (
            acp.RequestPermissionResponse,
            {"outcome": {"outcome": "maybe"}},
            'outcome.outcome: expected one of "selected", "cancelled", got "maybe"',
        ),
    ],
)
def test_the_first_problem_is_named_by_its_wire_path(kind, obj, message):
    assert problem(kind, obj) == message


@pytest.mark.parametrize(
    ("kind", "obj", "message"),
    [
        (acp.PromptResponse, {"stopReason": "tired"}, 'stopReason: expected one of "end_turn", "max_tokens"'),
        (acp.PromptResponse, {"stopReason": 5}, 'stopReason: expected one of "end_turn", "max_tokens"'),
    ],
)
def test_closed_enums_are_closed(kind, obj, message):
    assert problem(kind, obj).startswith(message)


def test_enums_are_read_as_enums():
    update = structure(acp.ToolCallUpdate, {"toolCallId": "c", "kind": "edit", "status": "tired"})
    assert update.kind is acp.ToolKind.EDIT
    assert update.status is None
    assert type(unstructure(update)["kind"]) is str


def test_an_unknown_block_names_the_types_there_are():
    message = problem(acp.PromptRequest, prompt({"type": "video"}))
    assert message == (
        'prompt[0].type: expected one of "text", "image", "audio", "resource_link", "resource", got "video"'
    )


def test_long_input_is_not_repeated():
    secret = "s3cret" * 100
    for obj in (prompt({"type": secret}), prompt({"type": {secret: 1}}), {"sessionId": "s", "prompt": secret}):
        assert "s3cret" not in problem(acp.PromptRequest, obj)


@pytest.mark.parametrize("servers", [{}, {"mcpServers": None}, {"mcpServers": []}])
def test_missing_mcp_servers_are_none_and_are_written(servers):
    request = structure(acp.NewSessionRequest, {"cwd": "/", **servers})
    assert request == acp.NewSessionRequest("/")
    assert unstructure(request) == {"cwd": "/", "mcpServers": []}


def test_a_type_of_stdio_is_understood():
    server = structure(
        acp.NewSessionRequest, {"cwd": "/", "mcpServers": [{"type": "stdio", "name": "n", "command": "c"}]}
    )
    assert server.mcp_servers == (acp.McpServerStdio("n", "c"),)


@pytest.mark.parametrize("bad", [5, "yes", [], None])
def test_capabilities_that_cannot_be_read_are_not_there(bad):
    request = structure(acp.InitializeRequest, {"protocolVersion": 1, "clientCapabilities": bad, "clientInfo": bad})
    assert request == acp.InitializeRequest(1)
    capabilities = {"fs": {"readTextFile": bad, "writeTextFile": True}, "terminal": bad, "elicitation": {"form": bad}}
    request = structure(acp.InitializeRequest, {"protocolVersion": 1, "clientCapabilities": capabilities})
    fs = acp.FileSystemCapabilities(write_text_file=True)
    assert request.client_capabilities == acp.ClientCapabilities(fs, elicitation=acp.ElicitationCapabilities())


def test_display_fields_that_cannot_be_read_are_left_out():
    block = {
        "type": "resource_link",
        "uri": "u",
        "name": "n",
        "size": "big",
        "title": 5,
        "annotations": {"audience": 3},
    }
    [read] = structure(acp.PromptRequest, prompt(block)).prompt
    assert read == acp.ResourceLink("n", "u", annotations=acp.Annotations())
    audience = {"type": "text", "text": "t", "annotations": {"audience": ["user", "robot", 5]}}
    [read] = structure(acp.PromptRequest, prompt(audience)).prompt
    assert read == acp.TextContent("t", acp.Annotations((acp.Role.USER,)))


def test_bad_items_of_a_list_for_display_are_dropped():
    plan = {"sessionUpdate": "plan", "entries": [{"content": "a", "priority": "high", "status": "pending"}, {}, 5]}
    read = get_converter().structure(plan, acp.SessionUpdate)
    assert [entry.content for entry in read.entries] == ["a"]
    assert get_converter().structure({"sessionUpdate": "plan", "entries": "?"}, acp.SessionUpdate) == acp.Plan(())


def test_only_what_is_set_is_written():
    assert unstructure(acp.ToolCallUpdate("c")) == {"toolCallId": "c"}
    assert unstructure(acp.ToolCallUpdate("c", content=())) == {"toolCallId": "c", "content": []}
    call = acp.ToolCall("c", "t", kind=acp.ToolKind.OTHER, status=acp.ToolCallStatus.PENDING)
    assert unstructure(call, acp.SessionUpdate) == {
        "sessionUpdate": "tool_call",
        "toolCallId": "c",
        "title": "t",
        "kind": "other",
        "status": "pending",
    }
    assert unstructure(acp.PromptResponse(acp.StopReason.END_TURN)) == {"stopReason": "end_turn"}


def test_raw_values_pass_through_unchanged():
    raw = {"type": "text", "n": [1, {"sessionUpdate": "x"}], "_meta": None}
    call = acp.ToolCallUpdate("c", raw_input=raw, meta={"a": raw})
    written = unstructure(call)
    assert written == {"toolCallId": "c", "rawInput": raw, "_meta": {"a": raw}}
    assert structure(acp.ToolCallUpdate, written) == call


def test_a_result_that_does_not_fit_is_no_rpc_error():
    with pytest.raises(WireError, match=r"^content: expected a string, got null$"):
        get_converter().structure({"content": None}, acp.ReadTextFileResponse)


@pytest.mark.parametrize("meta", [None, {}, {META_KEY: None}, {META_KEY: 5}, {META_KEY: {"messageIds": "yes"}}])
def test_a_client_that_declares_nothing_readable(meta):
    assert client_declaration(meta) == ClientDeclaration()


def test_additions_live_under_one_key_of_meta():
    tool = {"name": "goto", "inputSchema": {}}
    declared = {"messageIds": True, "historyReplaced": True, "frontendTools": [tool, 5], "later": 1}
    assert client_declaration({META_KEY: declared}) == ClientDeclaration(True, True, [tool, 5])
    assert to_meta(Supersedes(("a", "b")), {"x": 1}) == {"x": 1, META_KEY: {"supersedes": ["a", "b"]}}
    result = to_meta(PromptResult("m", "Done.", TurnUsage(10, 2)))
    assert result == {META_KEY: {"messageId": "m", "text": "Done.", "usage": {"inputTokens": 10, "outputTokens": 2}}}
    assert structure(SteerRequest, prompt(TEXT)).prompt == (acp.TextContent("hi"),)
