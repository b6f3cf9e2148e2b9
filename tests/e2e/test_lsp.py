"""A plain LSP client without a plugin: select code, pick an action, approve the edit, get it applied."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from support.agent import scripted
from support.lsp_client import PLAIN, LspClient, LspError, lsp, spanned, titled

pytestmark = pytest.mark.anyio
CODE = 'def greet(name):\n    return f"Hello, {name}"\n'
FIX = """
text: I look at it.
call: read_file {"path": "greeting.py"}
---
text: I change it.
call: edit_file {"path": "greeting.py", "old_text": "Hello, {name}", "new_text": "Hello, {name}!"}
---
text: It greets with a mark now.
"""
EDITED = CODE.replace("{name}", "{name}!")


def ended(editor: LspClient) -> bool:
    return any(value["kind"] == "end" for value in editor.progress())


async def fix(editor: LspClient, text: str = CODE):
    buffer = editor.open("greeting.py", text)
    actions = await editor.actions(buffer, 1, 4, 1, 28)
    assert await editor.run(titled(actions, "Fix what is wrong")) is None
    return buffer


async def test_select_pick_approve_and_it_is_applied(tmp_path):
    async with lsp(tmp_path, env=scripted(tmp_path, FIX)) as editor:
        editor.answer_with("Allow")
        buffer = await fix(editor)
        await editor.until(lambda: any("It greets" in text for text in editor.messages()))
        assert buffer.text == EDITED
        assert buffer.undo == [CODE]  # one undo step brings it back
        assert buffer.path.read_text() == CODE  # saving is the user's
        [text] = editor.messages()
        assert "not saved yet: greeting.py" in text
        [question] = editor.asked_for("window/showMessageRequest")
        assert "Edit greeting.py" in question["message"]
        assert next(a["title"] for a in question["actions"]) == "Allow"
        assert any(a["title"].startswith("Always allow") for a in question["actions"])
        [shown] = editor.asked_for("window/showDocument")
        diff = Path(shown["uri"].removeprefix("file://")).read_text()
        assert '+    return f"Hello, {name}!"' in diff
        [edit] = editor.asked_for("workspace/applyEdit")
        [change] = edit["edit"]["documentChanges"]
        assert change["textDocument"] == {"uri": buffer.uri, "version": 1}
        assert len(change["edits"]) == 1
        kinds = [value["kind"] for value in editor.progress()]
        assert kinds[0] == "begin"
        assert kinds[-1] == "end"
        assert any(value.get("message") == "Edit greeting.py" for value in editor.progress())
        assert await editor.shut_down() == 0


async def test_a_rejected_edit_changes_nothing(tmp_path):
    script = FIX + "---\ntext: Then not.\n"
    async with lsp(tmp_path, env=scripted(tmp_path, script)) as editor:
        editor.answer_with("Reject")
        buffer = await fix(editor)
        await editor.until(lambda: ended(editor))
        assert buffer.text == CODE
        assert editor.asked_for("workspace/applyEdit") == []


async def test_always_is_remembered(tmp_path):
    script = FIX.replace(
        "text: It greets with a mark now.",
        """
call: edit_file {"path": "greeting.py", "old_text": "def greet", "new_text": "def hail"}
---
text: done""",
    )
    async with lsp(tmp_path, env=scripted(tmp_path, script)) as editor:
        editor.answer_with("Always allow")
        buffer = await fix(editor)
        await editor.until(lambda: ended(editor))
        assert buffer.text == EDITED.replace("greet", "hail")
        assert len(editor.asked_for("window/showMessageRequest")) == 1


async def test_unsaved_text_is_what_the_agent_reads_and_changes(tmp_path):
    async with lsp(tmp_path, env=scripted(tmp_path, FIX.replace("greeting.py", "typed.py"))) as editor:
        editor.answer_with("Allow")
        buffer = editor.open("typed.py", "# saved\n")
        editor.change(
            buffer, {"range": spanned(0, 0, 1, 0), "text": "# 😀\f é\n"}, {"range": spanned(1, 0, 1, 0), "text": CODE}
        )
        editor.change(buffer, {"range": spanned(0, 2, 0, 4), "text": "unsaved"})
        assert buffer.text == "# unsaved\f é\n" + CODE
        await editor.run(titled(await editor.actions(buffer, 2, 0, 2, 5), "Refactor"))
        await editor.until(lambda: any("It greets" in text for text in editor.messages()))
        assert buffer.text == "# unsaved\f é\n" + EDITED


async def test_an_editor_without_questions_approves_by_a_code_action(tmp_path):
    async with lsp(tmp_path, env=scripted(tmp_path, FIX)) as editor:
        buffer = await fix(editor)
        await editor.until(lambda: any("Answer by a code action" in text for text in editor.messages()))
        actions = await editor.actions(buffer, 0, 0, 0, 0, triggerKind=2)
        await editor.run(titled(actions, "Quillback: Allow (Edit greeting.py)"))
        await editor.until(lambda: ended(editor))
        assert buffer.text == EDITED
        assert not any("Allow" in a["title"] for a in await editor.actions(buffer, 0, 0, 0, 0))


async def test_an_explanation_is_shown_as_a_document(tmp_path):
    env = scripted(tmp_path, "expect: The code is line 2 of\ntext: # What it does\\n\\nIt *greets*.\n")
    async with lsp(tmp_path, env=env) as editor:
        buffer = editor.open("greeting.py", CODE)
        await editor.run(titled(await editor.actions(buffer, 1, 0, 2, 0), "Explain"))
        await editor.until(lambda: editor.asked_for("window/showDocument"))
        [shown] = editor.asked_for("window/showDocument")
        path = Path(shown["uri"].removeprefix("file://"))
        assert path.parent == tmp_path / "home" / "quillback" / "answers"
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.read_text() == "# Explain greeting.py:2\n\n# What it does\n\nIt *greets*.\n"
        assert shown["takeFocus"] is True
        assert editor.messages() == []


async def test_diagnostics_come_with_the_prompt(tmp_path):
    env = scripted(tmp_path, "expect: line 2: warning: unused name (ruff F841)\ntext: Fixed.\n")
    async with lsp(tmp_path, env=env) as editor:
        buffer = editor.open("greeting.py", CODE)
        problem = {
            "range": spanned(1, 4, 1, 10),
            "severity": 2,
            "message": "unused\nname",
            "source": "ruff",
            "code": "F841",
        }
        actions = await editor.actions(buffer, 1, 4, 1, 4, diagnostics=[problem], triggerKind=2)
        assert [a["title"] for a in actions] == ["Quillback: Fix: unused name", "Quillback: Explain: unused name"]
        assert actions[0]["diagnostics"][0]["message"] == "unused\nname"
        await editor.run(actions[0])
        await editor.until(lambda: editor.messages())
        assert editor.messages() == ["Quillback: Fixed."]


async def test_a_question_can_be_given_or_chosen(tmp_path):
    script = "expect: why is that\ntext: Because.\n---\nexpect: What could go wrong\ntext: Nothing.\n"
    async with lsp(tmp_path, env=scripted(tmp_path, script)) as editor:
        buffer = editor.open("greeting.py", CODE)
        with pytest.raises(LspError, match="needs the uri"):
            await editor.command("quillback.explain")
        assert await editor.command("quillback.ask", "why", "is that") is None
        await editor.until(lambda: len(editor.asked_for("window/showDocument")) == 1)
        editor.answer_with("What could go wrong")
        await editor.run(titled(await editor.actions(buffer, 0, 0, 0, 3), "Ask"))
        await editor.until(lambda: len(editor.asked_for("window/showDocument")) == 2)
        del editor.on["window/showMessageRequest"]
        await editor.command("quillback.ask")
        await editor.until(lambda: any("quillback.ask {" in text for text in editor.messages()))


async def test_progress_can_be_cancelled(tmp_path):
    async with lsp(tmp_path, env=scripted(tmp_path, "text: Thinking about it\nwait: 60s\ntext: Done\n")) as editor:
        buffer = editor.open("greeting.py", CODE)
        await editor.run(titled(await editor.actions(buffer, 0, 0, 0, 3), "Explain"))
        await editor.until(lambda: len(editor.progress()) > 1)
        [token] = {params["token"] for method, params in editor.told if method == "$/progress"}
        assert editor.progress()[0]["cancellable"] is True
        editor.notify("window/workDoneProgress/cancel", {"token": token})
        await editor.until(lambda: ended(editor))
        assert editor.progress()[-1]["message"] == "cancelled"
        assert editor.messages() == []


async def test_an_edit_of_a_text_that_was_typed_into_meanwhile_is_refused(tmp_path):
    script = FIX.replace("text: It greets with a mark now.", "expect: the document has changed\ntext: Then not.")
    async with lsp(tmp_path, env=scripted(tmp_path, script)) as editor:
        editor.answer_with("Allow")

        def typed_first(params: dict) -> dict:
            buffer.version += 1
            return editor.apply(params)

        editor.on["workspace/applyEdit"] = typed_first
        buffer = await fix(editor)
        await editor.until(lambda: ended(editor))
        assert (buffer.text, buffer.path.read_text()) == (CODE, CODE)
        assert any("Then not" in text for text in editor.messages())


async def test_a_file_that_is_not_open_is_written_on_disk(tmp_path):
    script = 'call: write_file {"path": "new.py", "content": "x = 1\\n"}\n---\ntext: Made.\n'
    async with lsp(tmp_path, env=scripted(tmp_path, script)) as editor:
        editor.answer_with("Allow")
        await editor.command("quillback.do", {"prompt": "make new.py"})
        await editor.until(lambda: editor.messages())
        assert (editor.workspace / "new.py").read_text() == "x = 1\n"
        assert editor.messages() == ["Quillback: Made."]


async def test_undo_mode_and_a_new_conversation(tmp_path):
    script = 'call: write_file {"path": "new.py", "content": "x = 1\\n"}\n---\ntext: Made.\n---\ntext: Again.\n'
    async with lsp(tmp_path, env=scripted(tmp_path, script)) as editor:
        await editor.command("quillback.mode", "auto")
        await editor.command("quillback.do", {"prompt": "make new.py"})
        await editor.until(lambda: "Quillback: Made." in editor.messages())
        await editor.command("quillback.undo")
        assert not (editor.workspace / "new.py").exists()
        await editor.command("quillback.new")
        with pytest.raises(LspError, match="nothing was done"):
            await editor.command("quillback.undo")
        with pytest.raises(LspError, match="mode must be one of"):
            await editor.command("quillback.mode", {"mode": "wild"})


ACP = {**PLAIN, "experimental": {"quillback": {"fs": {"readTextFile": False}}}}


async def test_acp_on_the_same_connection(tmp_path):
    async with lsp(tmp_path, env=scripted(tmp_path, FIX), capabilities=ACP) as editor:
        assert editor.result["capabilities"]["experimental"]["quillback"]["loadSession"] is True
        option = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
        editor.on["session/request_permission"] = lambda _: option
        buffer = editor.open("greeting.py", CODE)
        session = (await editor.request("session/new", {"cwd": str(editor.workspace), "mcpServers": []}))["sessionId"]
        prompt = [{"type": "text", "text": "fix it"}]
        answer = await editor.request("session/prompt", {"sessionId": session, "prompt": prompt})
        assert answer["stopReason"] == "end_turn"
        assert buffer.text == EDITED
        updates = [params["update"]["sessionUpdate"] for method, params in editor.told if method == "session/update"]
        assert {"agent_message_chunk", "tool_call", "tool_call_update"} <= set(updates)
        assert editor.asked_for("window/showMessageRequest") == []
        assert len(editor.asked_for("session/request_permission")) == 1


async def test_a_code_action_of_a_client_that_knows_acp_is_a_prompt(tmp_path):
    env = scripted(tmp_path, "text: It greets.\n---\ntext: Slow\nwait: 60s\n")
    async with lsp(tmp_path, env=env, capabilities=ACP) as editor:
        buffer = editor.open("greeting.py", CODE)
        session = (await editor.request("session/new", {"cwd": str(editor.workspace), "mcpServers": []}))["sessionId"]
        action = titled(await editor.actions(buffer, 0, 0, 0, 3), "Explain")
        action["command"]["arguments"][0]["sessionId"] = session
        assert (await editor.run(action))["stopReason"] == "end_turn"
        assert editor.asked_for("window/showDocument") == []
        command = {"command": "quillback.explain", "arguments": action["command"]["arguments"]}
        number, answer = editor.begin("workspace/executeCommand", command)
        await editor.until(lambda: any("Slow" in str(params) for _, params in editor.told))
        editor.notify("$/cancelRequest", {"id": number})
        assert (await asyncio.wait_for(answer, 10))["stopReason"] == "cancelled"
        number, answer = editor.begin("workspace/executeCommand", command)
        editor.notify("$/cancelRequest", {"id": number})  # right behind it
        with suppress(LspError):
            assert (await asyncio.wait_for(answer, 10))["stopReason"] == "cancelled"
        del command["arguments"][0]["sessionId"]
        number, answer = editor.begin("workspace/executeCommand", command)
        editor.notify("$/cancelRequest", {"id": number})  # before there is a session
        with pytest.raises(LspError, match="cancelled"):
            await asyncio.wait_for(answer, 10)


async def test_commands_are_told_of_what_is_not_saved(tmp_path):
    shell = 'call: shell {"command": "cat greeting.py"}\n---\n'
    script = FIX.replace("text: It greets", f"{shell}expect: saw the old text: greeting.py\ntext: It greets")
    script += f"---\n{shell}expect-not: saw the old text\ntext: Saved now.\n"
    env = {**scripted(tmp_path, script), "QUILLBACK_MODE": "auto"}
    async with lsp(tmp_path, env=env) as editor:
        buffer = await fix(editor)
        await editor.until(lambda: any("It greets" in text for text in editor.messages()))
        buffer.path.write_text(buffer.text)
        await editor.command("quillback.do", {"uri": buffer.uri, "prompt": "look again"})
        await editor.until(lambda: "Quillback: Saved now." in editor.messages())


DIAGNOSTICS = {
    "name": "diagnostics",
    "description": "problems of a file",
    "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}, "afterEdit": {"type": "boolean"}}},
    "readOnly": True,
}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"content": [{"type": "text", "text": "line 2: error: E1"}]}, "diagnostics of it now:\\nline 2: error: E1"),
        ({"content": [{"type": "text", "text": "E2"}], "structuredContent": {"upToDate": False}}, "had not seen all"),
        ("typed", "1 replacement (line 2).\\n"),
        ("never", "1 replacement (line 2).\\n"),
    ],
)
async def test_an_edit_brings_the_editors_diagnostics(tmp_path, answer, told):
    """Those of another text, and those that do not come in time, are left out."""
    script = FIX.replace("text: It greets", f"expect: {told}\ntext: It greets")
    declared = {"_meta": {"quillback.dev": {"frontendTools": [DIAGNOSTICS]}}}
    env = {**scripted(tmp_path, script), "QUILLBACK_MODE": "auto"}
    async with lsp(tmp_path, env=env, capabilities={**PLAIN, "experimental": {"quillback": declared}}) as editor:
        called = []

        async def diagnostics(params: dict) -> object:
            called.append(params)
            if answer == "never":
                await asyncio.Event().wait()
            if answer == "typed":
                editor.change(buffer, {"range": spanned(0, 0, 0, 0), "text": "# mine\n"})
                return {"content": [{"type": "text", "text": "line 2: error: E3"}]}
            return answer

        editor.on["_quillback/tool/call"] = diagnostics
        buffer = editor.open("greeting.py", CODE)
        result = await editor.command("quillback.do", {"uri": buffer.uri, "prompt": "fix it"})
        assert result["stopReason"] == "end_turn"
        assert [c["arguments"] for c in called] == [{"path": str(buffer.path), "afterEdit": True}]
        edits = [u for m, p in editor.told if m == "session/update" for u in [p["update"]] if "E3" in str(u)]
        assert edits == []


async def test_what_is_offered(tmp_path):
    async with lsp(tmp_path) as editor:
        buffer = editor.open("greeting.py", CODE)
        assert await editor.actions(buffer, 0, 2, 0, 2, triggerKind=2) == []  # nothing unasked on every line
        cursor = [a["title"] for a in await editor.actions(buffer, 0, 2, 0, 2)]
        assert "Quillback: Explain" in cursor
        assert "Quillback: Do what the selected text says" not in cursor
        kinds = {a["kind"] for a in await editor.actions(buffer, 0, 0, 1, 0, only=["refactor"])}
        assert kinds == {"refactor.rewrite"}
        only = await editor.actions(buffer, 0, 0, 1, 0, only=["quillback.explain"])
        assert [a["title"] for a in only] == ["Quillback: Explain"]
        assert await editor.actions(buffer, 0, 0, 1, 0, only=["source.fixAll", "quick"]) == []
        commands = editor.result["capabilities"]["executeCommandProvider"]["commands"]
        offered = await editor.actions(buffer, 0, 0, 1, 0)
        assert {a["command"]["command"] for a in offered} <= set(commands)


async def test_an_old_client_gets_commands_and_messages(tmp_path):
    """No literals, no versions, no documents, no progress: what is left is enough."""
    old = {"workspace": {"applyEdit": True}}
    async with lsp(
        tmp_path, env=scripted(tmp_path, FIX + "---\ntext: It is a greeting.\n"), capabilities=old
    ) as editor:
        editor.answer_with("Allow")

        def apply(params: dict) -> dict:
            [(uri, edits)] = params["edit"]["changes"].items()
            versioned = {"textDocument": {"uri": uri, "version": buffer.version}, "edits": edits}
            return editor.apply({"edit": {"documentChanges": [versioned]}})

        editor.on["workspace/applyEdit"] = apply
        buffer = editor.open("greeting.py", CODE)
        actions = await editor.actions(buffer, 1, 4, 1, 28)
        assert all(isinstance(a["command"], str) for a in actions)
        await editor.run(titled(actions, "Fix what is wrong"))
        await editor.until(lambda: any("It greets" in text for text in editor.messages()))
        assert buffer.text == EDITED
        [question] = editor.asked_for("window/showMessageRequest")
        assert '+    return f"Hello, {name}!"' in question["message"]
        await editor.run(titled(actions, "Explain"))
        await editor.until(lambda: "Quillback: It is a greeting." in editor.messages())
        assert {method for method, _ in editor.asked} == {"window/showMessageRequest", "workspace/applyEdit"}


async def test_folders_decide_where_a_turn_works(tmp_path):
    env = scripted(tmp_path, "text: Fine.\n")
    other = tmp_path / "other"
    other.mkdir()
    async with lsp(tmp_path, env=env) as editor:
        event = {"added": [{"uri": other.as_uri(), "name": "other"}], "removed": []}
        editor.notify("workspace/didChangeWorkspaceFolders", {"event": event})
        (other / "b.py").write_text(CODE)
        buffer = editor.open("greeting.py", CODE)
        for uri, span in (((other / "b.py").as_uri(), (0, 0, 2, 0)), (buffer.uri, (0, 0, 0, 3))):
            await editor.command("quillback.fix", {"uri": uri, "range": spanned(*span)})
        await editor.until(lambda: len(editor.messages()) == 2)
        assert editor.messages() == ["Quillback: Fine."] * 2
        listed = await editor.request("session/list", {})
        places = {(s["cwd"], *s["additionalDirectories"]) for s in listed["sessions"]}
        assert places == {(str(other), str(editor.workspace)), (str(editor.workspace), str(other))}
