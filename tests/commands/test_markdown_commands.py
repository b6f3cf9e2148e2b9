"""Command files: what of them counts, and what becomes of bad ones."""

import os
from pathlib import Path

import pytest

from quillback.commands.files import FILES_LIMIT
from quillback.commands.markdown import SIZE_LIMIT, BadCommandError, read_command

pytestmark = pytest.mark.anyio


def info(text: str):
    return read_command("x.md", text.encode(), "Yours").info


@pytest.mark.parametrize(
    ("text", "description", "hint"),
    [
        ("---\ndescription: Fix it\nargument-hint: <file>\n---\nFix $1", "Fix it", "<file>"),
        ("---\ndescription: >\n  two\n  lines\n---\nFix", "two lines", ""),
        ("---\nargument-hint: [file] [line]\ndescription: odd: one\n---\nFix", "odd: one", "[file] [line]"),
        ("---\nargument-hint: [file]\n---\n# Fix it\nnow", "Fix it", "[file]"),
        ("---\nargument-hint: add [tag] | remove [tag]\n---\nFix", "Fix", "add [tag] | remove [tag]"),
        ("---\nallowed-tools: Bash(git:*)\nmodel: x\ndescription: 5\n---\nFix", "5", ""),
        ("---\n- a list\n---\nFix", "Fix", ""),
        ("---\ndescription: {a: 1}\n---\nFix", "Fix", ""),
        ("---\n" + "[" * 3000 + "\n---\nFix", "Fix", ""),
        ("---\n---\nFix\n---\nmore", "Fix", ""),
        ("--- no front matter\nFix", "--- no front matter", ""),
        ("---\nwithout an end", "---", ""),
        ("\ufeff---\r\ndescription: From afar\r\n---\r\nFix $ARGUMENTS", "From afar", "[text]"),
        ("Fix \x1b[31mred\x1b[0m", "Fix [31mred [0m", ""),
        ("x" * 500, "x" * 119 + "…", ""),
    ],
)
def test_what_is_told_of_a_command(text, description, hint):
    found = info(text)
    assert (found.name, found.description, found.hint) == ("x", description, hint)


def test_the_front_matter_is_no_part_of_the_text():
    command = read_command("a/b/fix.md", b"---\ndescription: d\n---\n\nFix $1.\n\n", "Yours")
    assert command.info.name == "a:b:fix"
    assert command.text("it") == "Fix it."


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("two words.md", b"x", "name has letters"),
        ("-x.md", b"x", "name has letters"),
        (".md", b"x", "name has letters"),
        ("a//b.md", b"x", "name has letters"),
        ("x.md", b"\xff\xfe\x00", "UTF-8"),
        ("x.md", b"a\0b", "not text"),
        ("x.md", b" \n", "says nothing"),
        ("x.md", b"---\ndescription: d\n---\n", "says nothing"),
        ("x.md", b"x" * (SIZE_LIMIT + 1), "larger than 100 KB"),
        ("x.md", b"---\n" + b"a: b\n" * 5000 + b"---\nx", "front matter is larger"),
    ],
)
def test_bad_files(name, data, why):
    with pytest.raises(BadCommandError, match=why):
        read_command(name, data, "Yours")


async def test_a_file_of_the_user_is_a_command(room):
    room.write("fix.md", "---\ndescription: Fix it\n---\nFix $1 in $2")
    room.write("git/commit.md", "Commit this")
    room.write("notes.txt", "nothing")
    assert room.names()[-2:] == ["fix", "git:commit"]
    assert await room.sent("fix", "'the bug' main.py") == "Fix the bug in main.py"
    assert await room.sent("git:commit", "at once") == "Commit this\n\nat once"
    assert room.notices == []


async def test_changes_of_files_count_at_once(room):
    assert "fix" not in room.names()
    path = room.write("fix.md", "old")
    assert await room.sent("fix") == "old"
    path.write_text("brand new")
    assert await room.sent("fix") == "brand new"
    path.unlink()
    assert "fix" not in room.names()


async def test_bad_files_are_told_of_once_and_the_others_work(room):
    room.write("good.md", "good")
    room.write("bad name.md", "x")
    room.write("binary.md", b"\xff\x00")
    room.write("big.md", b"x" * (SIZE_LIMIT + 1))
    os.mkfifo(room.directory / "pipe.md")
    (room.directory / "dir.md").mkdir()
    (room.directory / "broken.md").symlink_to(room.directory / "nowhere")
    for _ in range(3):
        assert "good" in room.names()
    told = sorted(notice.replace(str(room.directory), "") for notice in room.notices)
    assert [notice.split(" cannot")[0] for notice in told] == [
        "The command file /bad name.md",
        "The command file /big.md",
        "The command file /binary.md",
        "The command file /broken.md",
        "The command file /pipe.md",
    ]
    assert "cannot be used: it is larger than 100 KB." in told[1]
    assert "No such file" in told[3]
    assert "not a regular file" in told[4]
    help_ = await room.said("help")
    assert "**Not usable**" in help_
    assert "bad name.md`: a command's name has letters" in help_
    (room.directory / "big.md").write_text("small now")
    assert "big" in room.names()


async def test_unreadable_directories_and_crowds_are_no_error(room):
    assert room.commands.available()
    for number in range(FILES_LIMIT + 5):
        room.write(f"c{number:04}.md", "x")
    assert len([name for name in room.names() if name.startswith("c0")]) == FILES_LIMIT


async def test_project_files_of_both_folders(room):
    room.project[".claude/commands/deploy.md"] = b"from claude"
    room.project[".claude/commands/shared.md"] = b"from claude"
    room.project[".quillback/commands/db/shared.md"] = b"from us"
    room.project[".quillback/commands/shared.md"] = b"from us"
    assert room.names()[-3:] == ["db:shared", "deploy", "shared"]
    assert await room.sent("shared") == "from us"
    assert "`.claude/commands/shared.md`: another file is `/shared`" in await room.said("help")
    room.project.clear()
    assert "deploy" not in room.names()


async def test_a_command_that_needs_arguments_says_so(room):
    room.write("echo.md", "$ARGUMENTS")
    assert "says nothing without arguments" in await room.refused("echo")
    assert await room.sent("echo", "hi") == "hi"


async def test_nothing_of_a_file_is_run(room, tmp_path: Path):
    room.write("evil.md", f"!`touch {tmp_path}/made`\n$(touch {tmp_path}/made)\n```!\ntouch {tmp_path}/made\n```")
    text = await room.sent("evil", "`touch x`")
    assert f"!`touch {tmp_path}/made`" in text
    assert not (tmp_path / "made").exists()
