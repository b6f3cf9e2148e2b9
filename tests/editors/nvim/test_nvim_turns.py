"""What a user does around a turn in a real Neovim: queue, steer, review hunks, edit a prompt, restore files."""

TWO_HUNKS = "".join(f"line {n}\n" for n in range(1, 31))

EDIT = """
each-prompt

call: read_file {"path": "lines.txt"}
---
call: write_file {"path": "lines.txt", "content": "%s"}
---
text: It says ${prompt}
"""


def edited() -> str:
    return TWO_HUNKS.replace("line 2\n", "second\n").replace("line 25\n", "twenty-fifth\nand more\n")


def script(nvim, text: str) -> str:
    path = nvim.workspace.parent / "it.script"
    path.write_text(text)
    return f"scripted:{path}"


def writing(nvim, new: str) -> str:
    (nvim.workspace / "lines.txt").write_text(TWO_HUNKS)
    return script(nvim, EDIT % new.replace("\n", "\\n"))


def test_a_prompt_is_queued_while_a_turn_runs(nvim):
    nvim.start("scripted:slow")
    nvim.send("first")
    nvim.wait_for_text("slowly")
    nvim.type("isecond<Esc><CR>")
    nvim.wait(lambda: "1 queued" in nvim.bars(), "the prompt was not queued")
    assert "second" not in nvim.chat()
    nvim.type("<C-c>")
    nvim.wait_for_end()
    nvim.wait_for_text("Cancelled.")
    assert nvim.prompt() == "second"


def test_a_queued_prompt_is_sent_at_the_end_of_the_turn(nvim):
    nvim.start(script(nvim, "loop\n\npace: 100ms\ntext*5: slow\\s\ntext: ${prompt}\n"))
    nvim.send("first")
    nvim.wait_for_text("slow")
    nvim.type("isecond<Esc><CR>")
    nvim.wait_for_text("❯ You\nsecond\n")
    nvim.wait_for_end()
    assert nvim.chat().count("slow slow slow slow slow") == 2


def test_a_turn_is_steered(nvim):
    steps = ["pace: 300ms\ntext*4: working\\s\ncall: list_files {}\n", "expect: go left\ntext: I turn left.\n"]
    nvim.start(script(nvim, "---\n".join(steps)), env={"QUILLBACK_MODE": "auto"})
    nvim.send("Go.")
    nvim.wait_for_text("working")
    nvim.type("igo left<M-s>")
    nvim.wait_for_text("I turn left.")
    nvim.wait_for_end()
    assert "❯ You, meanwhile\ngo left\n" in nvim.chat()


def test_only_the_accepted_hunks_are_written(nvim):
    nvim.start(writing(nvim, edited()))
    nvim.send("Change it.")
    nvim.wait_for_question()
    nvim.command("QuillbackReview")
    assert nvim.lua("return vim.bo.filetype") == "quillback-review"
    nvim.type("ar<CR>")
    file = nvim.workspace / "lines.txt"
    wanted = TWO_HUNKS.replace("line 2\n", "second\n")
    nvim.wait(lambda: file.read_text() == wanted, "the first hunk alone was not written")
    nvim.wait_for_end()
    nvim.wait_for_text("It says Wrote lines.txt")
    assert "the user took only part: hunk 1 of 2." in nvim.chat()
    nvim.command("QuillbackUndo")
    nvim.wait(lambda: file.read_text() == TWO_HUNKS, "the file was not restored")


def test_rejecting_all_hunks_rejects_the_change(nvim):
    nvim.start(writing(nvim, edited()))
    nvim.send("Change it.")
    nvim.wait_for_question()
    nvim.command("QuillbackReview")
    nvim.type("R")
    nvim.wait_for_end()
    assert (nvim.workspace / "lines.txt").read_text() == TWO_HUNKS
    nvim.wait_for_text("✗ Write lines.txt")


def test_an_earlier_prompt_is_edited_and_sent_anew_with_the_files_restored(nvim):
    nvim.start(writing(nvim, edited()))
    file = nvim.workspace / "lines.txt"
    nvim.send("one")
    nvim.answer("QuillbackAllow")
    nvim.wait_for_end()
    assert file.read_text() == edited()
    first = nvim.lua("return require('quillback.chat').current.session.id")
    nvim.lua("vim.ui.select = function(items, _, done) done(items[2], 2) end")
    nvim.command("Quillback")
    nvim.lua("local a = require('quillback.layout').windows() vim.api.nvim_set_current_win(a)")
    nvim.type("gge")
    nvim.wait(lambda: nvim.prompt() == "one", "the prompt is not there to be edited")
    nvim.type("0Cother<Esc><CR>")
    nvim.wait_for_question()
    assert file.read_text() == TWO_HUNKS
    assert nvim.lua("return require('quillback.chat').current.session.id") != first
    chat = nvim.chat()
    assert "❯ You\nother\n" in chat
    assert "❯ You\none\n" not in chat


def test_a_second_prompt_is_edited_in_a_fork_of_the_session(nvim):
    nvim.start("scripted:echo")
    nvim.send("alpha")
    nvim.wait_for_end()
    nvim.send("beta")
    nvim.wait_for_end()
    nvim.wait_for_text("❯ You\nbeta\n")
    nvim.lua("vim.ui.select = function(items, _, done) done(items[1], 1) end")
    nvim.lua("local a = require('quillback.layout').windows() vim.api.nvim_set_current_win(a)")
    nvim.type("Ge")
    nvim.wait(lambda: nvim.prompt() == "beta", "the prompt is not there to be edited")
    nvim.type("0Cgamma<Esc><CR>")
    chat = nvim.wait_for_text("❯ You\ngamma\n")
    nvim.wait_for_end()
    assert "❯ You\nalpha\n" in chat
    assert "beta" not in nvim.chat()


def test_a_turn_is_cancelled_while_a_question_is_open(nvim):
    nvim.start(writing(nvim, edited()))
    nvim.send("Change it.")
    nvim.wait_for_question()
    nvim.command("QuillbackCancel")
    nvim.wait_for_end(3)
    nvim.wait_for_text("Cancelled.")
    assert "▶ " not in nvim.chat()
    assert (nvim.workspace / "lines.txt").read_text() == TWO_HUNKS


def test_hunks_of_a_file_that_is_written_past_the_editor(nvim):
    nvim.start(writing(nvim, edited()))
    file = nvim.workspace / "lines.txt"
    file.write_bytes(TWO_HUNKS.replace("\n", "\r\n").encode())
    nvim.send("Change it.")
    nvim.wait_for_question()
    nvim.command("QuillbackReview")
    nvim.type("ra<CR>")
    nvim.wait_for_end()
    wanted = TWO_HUNKS.replace("line 25\n", "twenty-fifth\nand more\n").replace("\n", "\r\n")
    nvim.wait(lambda: file.read_bytes() == wanted.encode(), "the second hunk alone was not written")
