"""A full disk: what is not saved is told, stays in line, and is saved once there is space again."""

import shutil
import subprocess
from pathlib import Path
from textwrap import dedent

import pytest

from support.stores import finish, query, start

NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")

FILE_LIMIT = """
    import resource

    def leave(size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def make_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""
SMALL_DISK = """
    import subprocess
    path.parent.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", path.parent], check=True)
    filler = path.with_name("filler")

    def leave(size):
        free = os.statvfs(path.parent).f_bavail * os.statvfs(path.parent).f_frsize
        filler.write_bytes(bytes(free - size))

    def make_room():
        filler.unlink()
"""
FILL_UP = """
    async def main():
        async with opened(path, "s1") as store:
            store.put(said("m1", "before"))
            await store.flush()
            leave(300_000)
            stored = 1
            try:
                while stored < 100:
                    store.put(said(f"m{stored + 1}", "x" * 20_000, seq=stored + 1))
                    await store.flush()
                    stored += 1
            except StoreError as error:
                print(error)
            assert stored > 3
            store.put(streaming("tail", seq=200))
            store.journal(PartOpened("tail", 0, Text("", "r1")))
            for text in ("one ", "two"):
                store.journal(delta("tail", text * 10_000))
                try:
                    await store.flush()
                except StoreError as error:
                    print(error)
            make_room()
            await store.flush()
            found = await store.messages("s1")
            assert [m.seq for m in found] == [*range(1, stored + 2), 200]
            assert found[-1].text() == "one " * 10_000 + "two" * 10_000
        assert query(path, "PRAGMA integrity_check") == [("ok",)]
    asyncio.run(main())
"""
START_FULL = """
    async def main():
        leave(0)
        store = new_store(path)
        try:
            await store.create_session(record())
        except StoreError as error:
            print(error)
        make_room()
        await store.create_session(record())
        await store.close()
    asyncio.run(main())
"""


def can_mount() -> bool:
    return bool(shutil.which("unshare")) and subprocess.run([*NAMESPACE, "true"], capture_output=True).returncode == 0


needs_mounts = pytest.mark.skipif(not can_mount(), reason="this user cannot mount a small disk of their own here")


@pytest.fixture(params=["file limit", pytest.param("small disk", marks=needs_mounts)])
def kind(request: pytest.FixtureRequest) -> tuple[str, tuple[str, ...]]:
    """How the disk gets full: the script's first part, and the command that runs it."""
    return (FILE_LIMIT, ()) if request.param == "file limit" else (SMALL_DISK, NAMESPACE)


def test_nothing_is_lost_on_a_full_disk(tmp_path: Path, kind: tuple[str, tuple[str, ...]]) -> None:
    path = tmp_path / "home" / "q.db"
    (out,) = finish([start(dedent(kind[0]) + dedent(FILL_UP), path, under=kind[1])])
    errors = list(zip((1, 2, 2), out.splitlines(), strict=False))
    assert errors
    assert all(error.startswith(f"Not saved: {n} x message. The database {path} cannot be") for n, error in errors)


def test_a_start_on_a_full_disk_can_be_tried_again(tmp_path: Path, kind: tuple[str, tuple[str, ...]]) -> None:
    path = tmp_path / "home" / "q.db"
    (out,) = finish([start(dedent(kind[0]) + dedent(START_FULL), path, under=kind[1])])
    assert str(path) in out
    if not kind[1]:
        assert query(path, "SELECT id FROM sessions") == [("s1",)]
