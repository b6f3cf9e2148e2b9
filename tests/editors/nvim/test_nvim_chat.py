"""The chat in a real Neovim: prompt, stream, permission, cancel."""


def test_a_prompt_is_answered_with_streamed_text_and_an_approved_edit(nvim):
    nvim.start("scripted:demo")
    nvim.send("Mend the greeting.")
    nvim.wait_for_question()
    chat = nvim.chat()
    assert "❯ You\nMend the greeting." in chat
    assert "I will look at `greeting.py` and run its test." in chat
    assert "▶ May this run?" in chat
    nvim.command("QuillbackAllow")  # the first test run
    nvim.wait_for_text('+     return f"Hello, {name}!"')
    nvim.wait_for_question()
    assert '-     return f"Hello, {name}"' in nvim.chat()
    assert "!" not in (nvim.workspace / "greeting.py").read_text()
    nvim.command("QuillbackAllow")
    nvim.wait(lambda: "!" in (nvim.workspace / "greeting.py").read_text(), "the file did not change")
    nvim.wait_for_question()
    nvim.command("QuillbackAllow")
    nvim.wait_for_end()
    assert "as its test expects." in nvim.wait_for_text("Done.")
    assert nvim.told() == []


def test_a_turn_is_cancelled(nvim):
    nvim.start("scripted:slow")
    nvim.send("Go on.")
    nvim.wait_for_text("slowly slowly")
    nvim.type("<C-c>")
    nvim.wait_for_end(3)
    nvim.wait_for_text("Cancelled.")
