"""What is around the chat in a real Neovim: context, mentions, sessions, modes, meter, notices, forms."""

import json

ECHO = "scripted:echo"


def script(nvim, text: str) -> str:
    path = nvim.workspace.parent / "it.script"
    path.write_text(text)
    return f"scripted:{path}"


def sent(nvim) -> list[dict]:
    """The blocks of the last prompt."""
    return nvim.lua(
        "local list = require('quillback.chat').current.session.transcript:prompts() return list[#list].blocks"
    )


def resources(nvim) -> dict[str, str]:
    """The text of what went along, by the end of its address."""
    found = [block["resource"] for block in sent(nvim) if block["type"] == "resource"]
    return {resource["uri"].rsplit("/", 1)[1]: resource["text"] for resource in found}


def test_file_selection_and_diagnostics_go_along_and_can_be_switched_off(nvim):
    nvim.start(ECHO)
    nvim.command("edit greeting.py")
    nvim.lua(
        "vim.diagnostic.set(vim.api.nvim_create_namespace('t'), 0, "
        "{ { lnum = 4, col = 4, message = 'no mark', severity = 2, source = 'lint' } })"
    )
    nvim.command("4")
    nvim.command("4,5Quillback")
    nvim.wait(lambda: "selection 4-5" in nvim.bars(), "the selection is not shown")
    nvim.send("Look.")
    nvim.wait_for_end()
    along = resources(nvim)
    assert along["greeting.py#L4"] == "The user has this file open, the cursor is in line 4."
    assert along["greeting.py#L4-L5"].startswith("The user selected these lines:\ndef greet(name: str)")
    assert "5:5 warning [lint]: no mark" in along["greeting.py#diagnostics"]
    assert "⎘ greeting.py#L4 · greeting.py#L4-L5 · greeting.py#diagnostics" in nvim.wait_for_text("⎘")
    for kind in ("file", "selection", "diagnostics"):
        nvim.command(f"QuillbackContext {kind} off")
    nvim.wait(lambda: "-file -selection -diagnostics" in nvim.bars(), "the switches are not shown")
    nvim.send("Again.")
    nvim.wait_for_end()
    assert [block["type"] for block in sent(nvim)] == ["text"]


def test_files_are_completed_and_sent_as_links(nvim):
    nvim.start(ECHO, setup="require('quillback.context').switch('file', false)\n")
    nvim.command("Quillback")
    nvim.type("iSee @test_gr")
    nvim.wait(lambda: nvim.lua("return vim.fn.pumvisible() == 1"), "no completion came")
    nvim.type("<C-n><C-y>, please.<Esc>")
    nvim.wait(lambda: nvim.prompt() == "See @test_greeting.py, please.", "nothing was completed")
    nvim.wait(lambda: nvim.lua("return require('quillback.chat').current.session.id ~= nil"), "no session")
    nvim.type("<CR>")
    nvim.wait_for_end()
    link = sent(nvim)[1]
    assert (link["type"], link["name"]) == ("resource_link", "test_greeting.py")
    assert link["uri"].endswith("/workspace/test_greeting.py")


def test_commands_of_the_server_are_completed(nvim):
    nvim.start(ECHO)
    nvim.command("Quillback")
    has_commands = "return #require('quillback.chat').current.session.commands > 0"
    nvim.wait(lambda: nvim.lua(has_commands), "the server told no commands")
    nvim.type("i/com")
    nvim.wait(lambda: nvim.lua("return vim.fn.pumvisible() == 1"), "no completion came")
    nvim.type("<C-n><C-y><Esc>")
    nvim.wait(lambda: nvim.prompt() == "/compact", "nothing was completed")


def test_a_session_is_picked_and_shown_again(nvim):
    nvim.start(ECHO)
    nvim.send("the first talk")
    nvim.wait_for_end()
    nvim.command("QuillbackNew")
    nvim.send("the second talk")
    nvim.wait_for_end()
    nvim.wait(lambda: nvim.lua("return #require('quillback.chat').all == 2"), "no second chat")
    nvim.lua("require('quillback.chat').all[1].session:close() table.remove(require('quillback.chat').all, 1)")
    nvim.lua(
        "vim.ui.select = function(items, options, done) picked = vim.tbl_map(options.format_item, items) "
        "for _, item in ipairs(items) do if item.title == 'the first talk' then done(item) end end end"
    )
    nvim.command("QuillbackSessions")
    chat = nvim.wait_for_text("❯ You\nthe first talk\n\nthe first talk\n")
    assert "second" not in chat
    assert len(nvim.lua("return picked")) == 2
    nvim.wait(lambda: "· the first talk" in nvim.bars(), "the title is not shown")


def test_mode_model_and_thinking_are_set(nvim):
    nvim.start(ECHO)
    nvim.send("hello")
    nvim.wait_for_end()
    nvim.command("QuillbackMode auto")
    nvim.wait(lambda: "· Auto · " in nvim.bars(), "the mode is not shown")
    nvim.lua("vim.ui.select = function(items, _, done) done(items[#items]) end")
    nvim.command("QuillbackModel")
    nvim.wait(lambda: " · Claude Haiku" in nvim.bars(), "the model is not shown")
    nvim.command("QuillbackThinking high")
    value = "return require('quillback.chat').current.session:option('thinking').currentValue"
    nvim.wait(lambda: nvim.lua(value) == "high", "thinking is not set")


def test_the_meter_shows_context_and_cost(nvim):
    nvim.start(script(nvim, 'text: Hi.\nusage: {"input_tokens": 50000, "output_tokens": 10}\n'))
    nvim.send("hello")
    nvim.wait_for_end()
    bar = nvim.wait(lambda: "50.0k/200.0k 25%%" in nvim.bars() and nvim.bars(), "the meter is not shown")
    assert "▰▰▰▱▱▱▱▱▱▱" in bar
    assert "$0." in bar


def test_a_question_and_the_end_of_a_turn_are_told_out_of_focus(nvim):
    nvim.start("scripted:demo")
    nvim.send("Mend it.")
    nvim.wait_for_question()
    assert nvim.told() == []
    nvim.command("doautocmd FocusLost")
    nvim.command("QuillbackAllow")
    nvim.wait_for_text('+     return f"Hello, {name}!"')
    nvim.wait_for_question()
    assert nvim.told() == ["May this run? Edit greeting.py"]
    nvim.command("QuillbackReject")
    nvim.answer("QuillbackReject")
    nvim.wait_for_end()
    nvim.wait(lambda: "The turn is done: Mend it." in nvim.told(), "the end was not told")


def test_a_hidden_chat_tells_too(nvim):
    nvim.start(script(nvim, "pace: 100ms\ntext*5: slow\\s\n"))
    nvim.send("Go.")
    nvim.wait_for_text("slow")
    nvim.command("QuillbackHide")
    nvim.wait_for_end()
    nvim.wait(lambda: "The turn is done: Go." in nvim.told(), "the end was not told")


def test_a_form_of_the_server_is_answered(nvim):
    ask = {"question": "Which colour?", "choices": ["red", "blue"]}
    nvim.start(script(nvim, f"call: ask_user {json.dumps(ask)}\n---\ntext: You took ${{prompt}}.\n"))
    nvim.lua("vim.ui.select = function(items, _, done) done(items[2]) end")
    nvim.send("Ask me.")
    nvim.wait_for_question()
    assert "※ Which colour?" in nvim.chat()
    nvim.command("QuillbackAllow")
    nvim.wait_for_end()
    nvim.wait_for_text("The user answered: blue.")


def test_tool_calls_and_thoughts_are_folded_and_questions_are_not(nvim):
    nvim.start("scripted:demo")
    nvim.send("Mend it.")
    nvim.wait_for_question()
    lines = nvim.chat().split("\n")
    window = "local a = require('quillback.layout').windows() return vim.api.nvim_win_call(a, function() "
    closed = nvim.lua(window + f"return vim.tbl_map(vim.fn.foldclosed, vim.fn.range(1, {len(lines)})) end)")
    by_line = dict(zip(lines, closed, strict=True))
    assert by_line["● Read greeting.py"] == lines.index("● Read greeting.py") + 1
    assert by_line["∴ Thought"] == lines.index("∴ Thought") + 1
    assert by_line["▶ May this run?"] == -1
    assert by_line["I will look at `greeting.py` and run its test."] == -1


def test_unsaved_text_is_what_the_agent_reads(nvim):
    nvim.start(script(nvim, 'call: read_file {"path": "greeting.py"}\n---\ntext: It says ${prompt}\n'))
    nvim.command("edit greeting.py")
    nvim.command("%s/Hello/Unsaved/")
    nvim.send("Read it.")
    nvim.wait_for_end()
    assert "Unsaved, {name}" in nvim.wait_for_text("It says")
    nvim.command("wincmd t")
    nvim.command("edit!")


def test_what_a_command_changed_on_disk_is_taken_in_and_unsaved_text_kept(nvim):
    command = {"command": "echo changed > notes.txt; echo changed > mine.txt"}
    nvim.start(script(nvim, f"call: shell {json.dumps(command)}\n---\ntext: Done.\n"), env={"QUILLBACK_MODE": "auto"})
    for name in ("notes.txt", "mine.txt"):
        (nvim.workspace / name).write_text("old\n")
        nvim.command(f"edit {name}")
    nvim.command("set hidden noautoread | call setline(1, 'mine')")
    nvim.send("Go.")
    nvim.wait_for_end()
    nvim.wait_for_text("Done.")
    text = "return vim.api.nvim_buf_get_lines(vim.fn.bufnr(...), 0, -1, false)"
    assert nvim.lua(text, "notes.txt") == ["changed"]
    assert nvim.lua(text, "mine.txt") == ["mine"]
    assert nvim.told() == ["Quillback: changed on disk, and your unsaved text is kept: mine.txt"]
