"""The server under a real Neovim: killed, started again, missing, and never left behind."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path


def is_running(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


def wait_for_death(pid: int) -> bool:
    until = time.monotonic() + 10
    while is_running(pid) and time.monotonic() < until:
        time.sleep(0.02)
    return not is_running(pid)


def test_a_killed_server_is_told_and_the_session_resumed(nvim):
    nvim.start("scripted:echo")
    nvim.send("remember me")
    nvim.wait_for_end()
    session = nvim.lua("return require('quillback.chat').current.session.id")
    killed = nvim.server_pid()
    os.kill(killed, signal.SIGKILL)
    nvim.wait_for_text("The Quillback server was killed by signal 9. :QuillbackRestart starts it again")
    assert any("QuillbackRestart" in text for text in nvim.told())
    assert "server stopped" in nvim.wait(lambda: "server stopped" in nvim.bars() and nvim.bars(), "the bar is silent")
    nvim.command("QuillbackRestart")
    chat = nvim.wait_for_text("The session is resumed.")
    assert nvim.server_pid() not in (None, killed)
    assert nvim.lua("return require('quillback.chat').current.session.id") == session
    assert "❯ You\nremember me\n" in chat
    nvim.send("and go on")
    nvim.wait_for_text("❯ You\nand go on\n\nand go on")


def test_a_server_killed_in_a_turn_gives_queued_prompts_back(nvim):
    nvim.start("scripted:slow")
    nvim.send("first")
    nvim.wait_for_text("slowly slowly slowly")
    nvim.type("isecond<Esc><CR>")
    nvim.wait(lambda: "1 queued" in nvim.bars(), "the prompt was not queued")
    os.kill(nvim.server_pid(), signal.SIGKILL)
    nvim.wait_for_text("was killed by signal 9")
    assert nvim.prompt() == "second"
    nvim.command("QuillbackRestart")
    nvim.wait_for_text("The session is resumed.")
    assert "slowly" in nvim.chat()


def test_a_restart_while_the_server_runs(nvim):
    nvim.start("scripted:echo")
    nvim.send("one")
    nvim.wait_for_end()
    before = nvim.server_pid()
    nvim.command("QuillbackRestart")
    nvim.wait_for_text("The session is resumed.")
    assert wait_for_death(before)
    assert nvim.server_pid() != before


def test_a_server_that_is_not_there_is_explained(nvim):
    nvim.start(setup="require('quillback').setup({ command = { '/nowhere/quillback', 'acp' } })\n")
    nvim.command("Quillback hello")
    chat = nvim.wait_for_text("The Quillback server could not be started with `/nowhere/quillback acp`")
    assert ":checkhealth quillback tells more" in chat
    nvim.wait(lambda: nvim.prompt() == "hello", "the prompt is lost")


def test_a_server_that_ends_at_once_is_explained_with_its_last_words(nvim):
    nvim.start(setup="require('quillback').setup({ command = { 'sh', '-c', 'echo no such luck >&2; exit 7' } })\n")
    nvim.command("Quillback hello")
    chat = nvim.wait_for_text("ended with exit code 7")
    assert "Its last words: no such luck" in chat
    nvim.wait(lambda: nvim.prompt() == "hello", "the prompt is lost")


def test_a_killed_editor_leaves_no_process(nvim):
    nvim.start("scripted:slow")
    nvim.send("Go on.")
    nvim.wait_for_text("slowly")
    server = nvim.server_pid()
    assert is_running(server)
    nvim.kill()
    assert wait_for_death(server)


def test_an_editor_that_is_closed_leaves_no_process(nvim):
    nvim.start("scripted:slow")
    nvim.send("Go on.")
    nvim.wait_for_text("slowly")
    server = nvim.server_pid()
    nvim.quit()
    assert wait_for_death(server)


def test_checkhealth(nvim):
    nvim.start()
    nvim.command("checkhealth quillback")
    text = "\n".join(nvim.nvim.current.buffer[:])
    assert "the Markdown parser is there" in text
    assert "quillback doctor` says" in text
    assert "ERROR" not in text
