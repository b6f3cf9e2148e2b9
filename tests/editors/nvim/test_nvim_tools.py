"""The editor's own tools, called by a scripted model, with a language server behind a real Neovim."""

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("pygls", reason="pygls is not installed here; run `make test-editors`")

SERVER = Path(__file__).with_name("language_server.py")

LANGUAGE_SERVER = f"""
vim.lsp.config('words', {{
  cmd = {{ {sys.executable!r}, {str(SERVER)!r} }},
  filetypes = {{ 'python' }},
  root_dir = function(_, found) found(vim.fn.getcwd()) end,
}})
vim.lsp.enable('words')
"""


def start(nvim, *calls: tuple[str, object], setup: str = "") -> None:
    """An editor whose model makes these calls and then repeats the result of the last."""
    steps = [f"call: {name} {json.dumps(arguments)}" for name, arguments in calls]
    path = nvim.workspace.parent / "it.script"
    path.write_text("each-prompt\n\n" + "\n---\n".join([*steps, "text: It says ${prompt} and that is all."]) + "\n")
    (nvim.workspace / "main.py").write_text("from greeting import greet\n\nprint(greet('Ada'))\n")
    nvim.start(f"scripted:{path}", setup=LANGUAGE_SERVER + setup)


def test_a_symbol_is_renamed_everywhere_by_the_language_server_and_undone(nvim):
    place = {"path": "main.py", "line": 3, "symbol": "greet", "new_name": "welcome"}
    start(nvim, ("rename_symbol", place))
    files = [nvim.workspace / name for name in ("main.py", "greeting.py", "test_greeting.py")]
    before = [file.read_text() for file in files]
    nvim.send("Rename this symbol everywhere.")
    nvim.wait_for_question()
    chat = nvim.chat()
    assert "▶ Rename greet to welcome?" in chat
    assert "+ def welcome(name: str) -> str:" in chat
    assert [file.read_text() for file in files] == before
    nvim.answer("QuillbackAllow")
    nvim.wait_for_end()
    assert "Changed 3 files" in nvim.wait_for_text("that is all.")
    assert "welcome('Ada')" in files[0].read_text()
    assert "def welcome(" in files[1].read_text()
    assert "welcome(" in files[2].read_text()
    nvim.command("edit main.py")
    nvim.command("normal! u")
    assert "greet('Ada')" in "\n".join(nvim.nvim.current.buffer[:])
    nvim.command("redo")
    nvim.command("silent write")


def test_an_edit_of_the_editors_tools_is_undone_in_all_files(nvim):
    place = {"path": "main.py", "line": 3, "symbol": "greet", "new_name": "welcome"}
    start(nvim, ("rename_symbol", place))
    files = [nvim.workspace / name for name in ("main.py", "greeting.py", "test_greeting.py")]
    before = [file.read_text() for file in files]
    nvim.send("Rename it.")
    nvim.answer("QuillbackAllow")
    nvim.wait_for_end()
    nvim.wait_for_text("that is all.")
    assert [file.read_text() for file in files] != before
    nvim.command("QuillbackUndo")
    nvim.wait_for_text("restored main.py")
    assert [file.read_text() for file in files] == before


def test_a_rejected_rename_changes_nothing(nvim):
    place = {"path": "main.py", "line": 3, "symbol": "greet", "new_name": "welcome"}
    start(nvim, ("rename_symbol", place))
    nvim.send("Rename it.")
    nvim.answer("QuillbackReject")
    nvim.wait_for_text("the user rejected the change; nothing was changed")
    nvim.wait_for_end()
    assert "greet('Ada')" in (nvim.workspace / "main.py").read_text()


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("definition", {"path": "main.py", "line": 3, "symbol": "greet"}, "greeting.py:4: def greet"),
        ("references", {"path": "main.py", "line": 3, "symbol": "greet"}, "test_greeting.py:3: from greeting import"),
        ("hover", {"path": "main.py", "line": 3, "symbol": "greet"}, "the word `greet`"),
        ("document_symbols", {"path": "greeting.py"}, "4: function greet"),
        ("hover", {"path": "main.py", "line": 3, "symbol": "nowhere"}, '"nowhere" is not in that line'),
        ("hover", {"path": "gone.py", "line": 1, "symbol": "x"}, "there is no such file"),
        ("document_symbols", {"path": "notes.txt"}, "this file has no language server"),
        ("open_buffers", {}, "No file is open."),
    ],
)
def test_tools_that_look(nvim, name, arguments, said):
    (nvim.workspace / "notes.txt").write_text("nothing\n")
    start(nvim, (name, arguments))
    nvim.send("Look.")
    nvim.wait_for_end()
    assert said in nvim.wait_for_text("that is all.")
    assert "▶ " not in nvim.chat()


def test_workspace_symbols_selection_and_open_buffers(nvim):
    start(nvim, ("workspace_symbols", {"query": "gre"}), ("selection", {}), ("open_buffers", {}))
    nvim.command("edit greeting.py")
    nvim.wait(lambda: nvim.lua("return #vim.lsp.get_clients() > 0"), "no language server came")
    nvim.type("4GVj<Esc>")
    nvim.send("Look.")
    nvim.wait_for_end()
    chat = nvim.wait_for_text("that is all.")
    assert "greeting.py:4: function greet" in chat
    assert "Last selected, greeting.py lines 4 to 5:\ndef greet" in chat
    assert "It says greeting.py (active) and" in chat


def test_diagnostics_and_the_fix_for_them(nvim):
    place = {"path": "bad.py", "line": 1}
    fix = {**place, "title": "Make it good"}
    start(nvim, ("diagnostics", {"path": "bad.py"}), ("code_actions", place), ("apply_code_action", fix))
    (nvim.workspace / "bad.py").write_text("BAD = 1\n")
    nvim.send("Mend it.")
    nvim.answer("QuillbackAllow")
    nvim.wait_for_end()
    chat = nvim.wait_for_text("that is all.")
    assert "bad.py:1:1 error: BAD is bad" in chat
    assert "- Make it good [quickfix]" in chat
    assert "The editor reports no problems in them." in chat
    assert (nvim.workspace / "bad.py").read_text() == "good = 1\n"


def test_an_edit_of_the_agent_carries_the_new_diagnostics(nvim):
    new = {"path": "new.py", "content": "x = 1\nBAD = 2\n"}
    start(nvim, ("write_file", new))
    nvim.send("Write it.")
    nvim.answer("QuillbackAllow")
    nvim.wait_for_end()
    assert "new.py:2:1 error: BAD is bad" in nvim.wait_for_text("that is all.")
    assert "had not seen all" not in nvim.chat()


def test_format_edit_and_quickfix(nvim):
    edits = [
        {"path": "main.py", "old_text": "'Ada'", "new_text": "'Bob'"},
        {"path": "greeting.py", "old_text": "Hello", "new_text": "Hi"},
    ]
    items = [{"path": "main.py", "line": 3, "text": "here"}]
    start(nvim, ("format_file", {"path": "wide.py"}), ("apply_edit", {"edits": edits}), ("quickfix", {"items": items}))
    (nvim.workspace / "wide.py").write_text("x = 1   \n")
    nvim.send("Go.")
    nvim.wait_for_text("▶ Format wide.py?")
    nvim.command("QuillbackAllow")
    nvim.wait_for_text("▶ Change 2 files?")
    nvim.command("QuillbackAllow")
    nvim.wait_for_end()
    nvim.wait_for_text("The user sees a list of 1 places. and that is all.")
    assert (nvim.workspace / "wide.py").read_text() == "x = 1\n"
    assert "'Bob'" in (nvim.workspace / "main.py").read_text()
    assert "Hi, {name}" in (nvim.workspace / "greeting.py").read_text()
    assert nvim.lua("return vim.fn.getqflist()[1].text") == "here"


def test_a_symbol_is_completed_and_its_text_goes_along(nvim):
    start(nvim)
    nvim.command("edit greeting.py")
    nvim.wait(lambda: nvim.lua("return #vim.lsp.get_clients() > 0"), "no language server came")
    nvim.command("Quillback")
    nvim.type("iExplain @greet")
    words = "return vim.tbl_map(function(item) return item.word end, vim.fn.complete_info({ 'items' }).items)"
    nvim.wait(lambda: "@greet" in nvim.lua(words), "the symbol is not offered")
    nvim.wait(lambda: nvim.lua("return require('quillback.chat').current.session.id ~= nil"), "no session")
    nvim.type("<C-e><Esc><CR>")
    nvim.wait_for_end()
    blocks = nvim.lua("return require('quillback.chat').current.session.transcript:prompts()[1].blocks")
    texts = [block["resource"]["text"] for block in blocks if block["type"] == "resource"]
    assert any(text.startswith("The symbol greet is here:\ndef greet(name: str)") for text in texts)


def test_the_last_edit_of_a_tool_is_undone_by_command(nvim):
    edits = [{"path": "main.py", "old_text": "'Ada'", "new_text": "'Bob'"}]
    start(nvim, ("apply_edit", {"edits": edits}))
    nvim.send("Go.")
    nvim.answer("QuillbackAllow")
    nvim.wait_for_end()
    assert "'Bob'" in (nvim.workspace / "main.py").read_text()
    nvim.command("QuillbackUndoEdit")
    assert "'Ada'" in (nvim.workspace / "main.py").read_text()
    assert "restored main.py" in nvim.told()[-1]
