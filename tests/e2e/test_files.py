"""T01 T03 T05 T07 T09: what file tools do to bytes, modes, links, and files that others change."""

import asyncio
import os
import stat

import pytest

from support.agent import agent
from support.fake_model import FakeModel, Reply, Say, Use
from support.play import kill, play, shell
from support.processes import until
from support.requests import last_request, result_text, results

pytestmark = pytest.mark.anyio
AUTO = {"QUILLBACK_MODE": "auto"}
BOM = b"\xef\xbb\xbf"


def read(path: str) -> Use:
    return Use("read_file", {"path": path})


def write(path: str, content: str) -> Use:
    return Use("write_file", {"path": path, "content": content})


def edit(path: str, old: str, new: str, **more: object) -> Use:
    return Use("edit_file", {"path": path, "old_text": old, "new_text": new, **more})


def failed(*outcomes) -> list[bool]:
    return [r.get("is_error", False) for r in outcomes]


async def test_an_edit_changes_only_the_bytes_it_names(tmp_path, fake: FakeModel):
    cases = {
        "bom.txt": (BOM + b"a\r\nb\r\nc", "a\nb", "a\nB", BOM + b"a\r\nB\r\nc"),
        "crlf.txt": (b"a\r\nb\r\nc", "a\nb", "a\nB\nnew", b"a\r\nB\r\nnew\r\nc"),
        "lf.txt": (b"a\nb\nc\n", "b\n", "", b"a\nc\n"),
        "mixed.txt": (b"a\r\nb\nc\r\n", "b", "B", b"a\r\nB\nc\r\n"),
        "latin1.py": (b"x = 1\n# caf\xe9\n", "x = 1", "x = 2", b"x = 2\n# caf\xe9\n"),
        "gbk.txt": (b"x = 1\n\xd6\xd0\xce\xc4\n", "x = 1", "x = 2", b"x = 2\n\xd6\xd0\xce\xc4\n"),
        "utf16.txt": ("\ufeffx = 1\n中".encode("utf-16-le"), "x = 1", "x = 2", "\ufeffx = 2\n中".encode("utf-16-le")),
        "nfd.txt": ("e\u0301 x\n".encode(), "x", "y", "e\u0301 y\n".encode()),
        "form.txt": (b"a\x0cb\x1c\xe2\x80\xa8c\n", "c", "d", b"a\x0cb\x1c\xe2\x80\xa8d\n"),
    }
    async with agent(tmp_path, fake.base_url, env=AUTO) as a:
        session = await a.session()
        uses = []
        for name, (data, old, new, _) in cases.items():
            (a.workspace / name).write_bytes(data)
            uses += [read(name), edit(name, old, new)]
        outcomes = await play(a, fake, session, *uses)
        assert not any(failed(*outcomes)), [result_text(r) for r in outcomes if r.get("is_error")]
        expected = {n: c[3] for n, c in cases.items()}
        assert {n: (a.workspace / n).read_bytes() for n in cases} == expected
        (outcome,) = await play(a, fake, session, edit("latin1.py", "x = 2", "x = '中'"))  # which Latin-1 lacks
        assert outcome["is_error"]
        assert (a.workspace / "latin1.py").read_bytes() == expected["latin1.py"]


async def test_what_others_changed_is_not_overwritten(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url, env=AUTO) as a:
        session = await a.session()
        file = a.workspace / "s.txt"
        file.write_text("one\n")
        same_time = file.stat()

        def outside(use: Use, text: str):
            def change(_body):
                file.write_text(text)
                os.utime(file, ns=(same_time.st_atime_ns, same_time.st_mtime_ns))  # a clock is no witness
                return Reply(use)

            return change

        over, again = write("s.txt", "mine\n"), edit("s.txt", "two", "mine")
        fake.script("a", Reply(read("s.txt")), outside(over, "two\n"), Reply(again), Reply(Say("done")))
        await a.client.prompt(session, "[[a]]")
        found = results(last_request(fake, "a"))
        assert failed(found[over.id], found[again.id]) == [True, True]
        assert "read it again" in result_text(found[over.id])
        assert file.read_text() == "two\n"
        unread, *rest = await play(a, fake, await a.session(), write("s.txt", "mine\n"), read("s.txt"))
        assert failed(unread, *rest) == [True, False]
        assert file.read_text() == "two\n"
        own = (read("s.txt"), edit("s.txt", "two", "2"), edit("s.txt", "2", "zwei"), write("s.txt", "zwei\ndrei\n"))
        assert not any(failed(*await play(a, fake, session, *own)))
        assert file.read_text() == "zwei\ndrei\n"
        await shell(a, fake, session, "echo vier >> s.txt")
        assert failed(*await play(a, fake, session, write("s.txt", "mine\n"))) == [True]
        assert file.read_text() == "zwei\ndrei\nvier\n"


async def test_an_edit_that_is_not_exact_changes_nothing(tmp_path, fake: FakeModel):
    data = b"x1\nx2\nx3\n"
    async with agent(tmp_path, fake.base_url, env=AUTO) as a:
        session = await a.session()
        file = a.workspace / "d.txt"
        file.write_bytes(data)
        wrong = {
            "3": edit("d.txt", "x", "y"),
            "nope": edit("d.txt", "nope", "y"),
            "same": edit("d.txt", "x1", "x1"),
            "empty": edit("d.txt", "", "y"),
            "no such": edit("none.txt", "x", "y"),
            "all of nothing": edit("d.txt", "nope", "y", replace_all=True),
            "space": edit("d.txt", "x1 ", "y"),
        }
        outcomes = await play(a, fake, session, read("d.txt"), *wrong.values())
        assert failed(*outcomes[1:]) == [True] * len(wrong)
        assert "3" in result_text(outcomes[1])
        assert file.read_bytes() == data
        (done,) = await play(a, fake, session, edit("d.txt", "x", "y", replace_all=True))
        assert not done.get("is_error")
        assert file.read_bytes() == b"y1\ny2\ny3\n"
        (made,) = await play(a, fake, session, edit("new/file.txt", "", "fresh\n"))
        assert not made.get("is_error")
        assert (a.workspace / "new/file.txt").read_text() == "fresh\n"
        assert sorted(p.name for p in a.workspace.iterdir()) == ["d.txt", "new"]


async def test_writing_keeps_modes_and_links(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url, env=AUTO) as a:
        session = await a.session()
        ws = a.workspace
        (ws / "x.sh").write_text("#!/bin/sh\n")
        (ws / "x.sh").chmod(0o755)
        (ws / "private.txt").write_text("p\n")
        (ws / "private.txt").chmod(0o600)
        (ws / "fixed.txt").write_text("f\n")
        (ws / "fixed.txt").chmod(0o444)
        (ws / "sub").mkdir()
        (ws / "sub" / "real.txt").write_text("old\n")
        (ws / "link.txt").symlink_to("sub/real.txt")
        (ws / "dangling.txt").symlink_to("sub/later.txt")
        outcomes = await play(
            a,
            fake,
            session,
            *(read(n) for n in ("x.sh", "private.txt", "fixed.txt", "link.txt")),
            write("x.sh", "#!/bin/sh\necho hi\n"),
            edit("private.txt", "p", "q"),
            write("link.txt", "new\n"),
            write("fixed.txt", "changed\n"),
        )
        assert failed(*outcomes[4:]) == [False, False, False, True]
        assert stat.S_IMODE((ws / "x.sh").stat().st_mode) == 0o755
        assert stat.S_IMODE((ws / "private.txt").stat().st_mode) == 0o600
        assert (ws / "private.txt").read_text() == "q\n"
        assert (ws / "link.txt").readlink() == (ws / "link.txt").parent.joinpath("sub/real.txt").relative_to(ws)
        assert (ws / "sub/real.txt").read_text() == "new\n"
        assert (ws / "fixed.txt").read_text() == "f\n"
        (through,) = await play(a, fake, session, write("dangling.txt", "x\n"))
        assert (ws / "dangling.txt").is_symlink()
        assert through.get("is_error") or (ws / "sub/later.txt").read_text() == "x\n"
        assert not [p for p in ws.rglob("*") if p.name.endswith(".tmp")]


@pytest.mark.parametrize("moment", ["while it is written", "when it counts"])
async def test_a_kill_leaves_the_old_content_or_the_new_one(tmp_path, fake: FakeModel, moment):
    old, new = "old." * 1000, "new." * 12_500_000
    async with agent(tmp_path, fake.base_url, env=AUTO, polite=False) as a:
        file = a.workspace / "big.txt"
        file.write_text(old)
        fake.script(
            "a", Reply(read("big.txt")), Reply(Use("write_file", {"path": "big.txt", "content": new}, cuts=500))
        )
        turn = await a.client.start_prompt(await a.session(), "[[a]]")
        temporary = lambda: [p for p in a.workspace.iterdir() if p != file]  # noqa: E731
        assert await until(temporary, 30), "no write was begun"
        before = file.stat()
        async with asyncio.timeout(30):
            while moment == "when it counts" and _same(before, file.stat()):
                await asyncio.sleep(0)  # a longer pause would miss it
        await kill(a, turn)
        content = file.read_text()
        assert content in (old, new), f"{len(content)} characters"
    async with agent(tmp_path, fake.base_url, env=AUTO) as b:
        looks = (Use("list_dir", {"path": "."}), Use("glob", {"pattern": "**/*"}), Use("grep", {"pattern": "new"}))
        for outcome in await play(b, fake, await b.session(), *looks):
            assert ".tmp" not in result_text(outcome)
        session = await b.session()
        await play(b, fake, session, read("big.txt"), write("other.txt", "x\n"))
        assert sorted(p.name for p in b.workspace.iterdir()) == ["big.txt", "other.txt"]


def _same(one: os.stat_result, other: os.stat_result) -> bool:
    return (one.st_ino, one.st_size) == (other.st_ino, other.st_size)
