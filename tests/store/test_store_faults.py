"""Damaged, newer, unreachable files and full disks: a clear error, nothing destroyed, and a later try works."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from quillback.core.ports import StoreError
from quillback.store.migrations import MIGRATIONS
from support.stores import finish, new_store, opened, query, said, snapshot, start

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "q.db"


async def filled(path: Path) -> None:
    async with opened(path, "s1") as store:
        store.put(said("m1", "precious"))


async def refused(path: Path) -> str:
    """Opening it fails and changes nothing in its directory. The error, which names the file."""
    before = snapshot(path.parent)
    store = new_store(path)
    with pytest.raises(StoreError) as caught:
        await store.open()
    with pytest.raises(StoreError) as again:
        await store.session("s1")
    await store.close()
    assert snapshot(path.parent) == before
    assert str(again.value) == str(caught.value)
    assert str(path) in str(caught.value)
    return str(caught.value)


async def test_a_newer_file_is_refused_untouched(path: Path) -> None:
    await filled(path)
    query(path, "PRAGMA user_version = 7")
    error = await refused(path)
    assert f"version is 7, this one knows versions up to {len(MIGRATIONS)}. Update Quillback" in error


async def test_a_newer_file_is_refused_when_only_its_log_tells(path: Path) -> None:
    await filled(path)
    script = """
        import sqlite3
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("PRAGMA user_version = 7")
        os.kill(os.getpid(), signal.SIGKILL)
    """
    start(script, path).communicate(timeout=30)
    files = {file: file.read_bytes() for file in (path, path.with_name("q.db-wal"))}
    assert all(files.values())
    store = new_store(path)
    with pytest.raises(StoreError, match="version is 7"):
        await store.open()
    await store.close()
    assert {file: file.read_bytes() for file in files} == files


@pytest.mark.parametrize("garbage", [b"garbage!" * 16, b"\0" * 100])
async def test_a_damaged_header_is_told_and_kept(path: Path, garbage: bytes) -> None:
    await filled(path)
    whole = path.read_bytes()
    path.write_bytes(garbage + whole[len(garbage) :])
    error = await refused(path)
    assert "damaged" in error
    assert "put a backup in its place" in error
    store = new_store(path)
    with pytest.raises(StoreError):
        await store.open()
    path.write_bytes(whole)
    assert [m.text() for m in await store.messages("s1")] == ["precious"]
    await store.close()


async def test_damage_inside_is_told_and_kept(path: Path) -> None:
    await filled(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xa5" * (path.stat().st_size - 4096))
    store = new_store(path)
    with pytest.raises(StoreError, match=r"q\.db.*damaged"):
        await store.messages("s1")
    with pytest.raises(StoreError, match=r"q\.db.*damaged"):
        await store.sessions()
    assert path.read_bytes()[4096:] == b"\xa5" * (path.stat().st_size - 4096)
    backup = path.with_name("backup")
    backup.write_bytes(whole)
    backup.replace(path)
    assert [m.text() for m in await store.messages("s1")] == ["precious"]
    await store.close()


async def test_another_kind_of_file_is_told_and_kept(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("dear diary, " * 100)
    assert "not a Quillback database" in await refused(path)


async def test_an_emptied_file_beside_a_full_log_is_kept(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    path.with_name("q.db-wal").write_bytes(b"x" * 5000)
    assert "write-ahead log is not" in await refused(path)


@pytest.mark.parametrize("keep", [0.2, 0.5, 0.9])
async def test_a_cut_log_loses_its_end_only(path: Path, keep: float) -> None:
    script = """
        async def main():
            async with opened(path, "s1") as store:
                for n in range(1, 41):
                    store.put(said(f"m{n}", f"text {n} " * 100, seq=n))
                    await store.flush()
                os.kill(os.getpid(), signal.SIGKILL)
        asyncio.run(main())
    """
    start(script, path).communicate(timeout=30)
    log = path.with_name("q.db-wal")
    os.truncate(log, int(log.stat().st_size * keep))
    async with opened(path) as store:
        found = await store.messages("s1")
        assert [m.seq for m in found] == list(range(1, len(found) + 1))
        assert 0 < len(found) < 40
        store.put(said("more", "text", seq=100))
        await store.flush()
    assert query(path, "PRAGMA integrity_check") == [("ok",)]


async def test_a_directory_in_its_place_is_told(path: Path) -> None:
    path.mkdir(parents=True)
    store = new_store(path)
    with pytest.raises(StoreError, match=r"q\.db .*not a regular file"):
        await store.open()
    path.rmdir()
    await store.open()
    await store.close()


async def test_a_file_in_the_directory_s_place_is_told(path: Path) -> None:
    path.parent.write_text("in the way")
    store = new_store(path)
    with pytest.raises(StoreError, match=r"home.*QUILLBACK_HOME"):
        await store.open()
    store.put(said("m1", "kept"))
    with pytest.raises(StoreError, match="Not saved: 1 x message"):
        await store.flush()
    path.parent.unlink()
    await store.open()
    await store.close()


DENIED = """
    import concurrent.futures.thread  # the new user may not be allowed to read it any more
    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    async def main():
        store = new_store(path)
        try:
            await store.open()
        except StoreError as error:
            print(error)
        await store.close()
    asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("directory_mode", "file_mode"), [(0o555, None), (0o755, 0o400), (0o755, 0o000), (0o000, None)]
)
def test_missing_permissions_are_told(directory_mode: int, file_mode: int | None) -> None:
    home = Path(tempfile.mkdtemp())
    path = home / "q.db"
    try:
        if file_mode is not None:
            path.touch()
            path.chmod(file_mode)
            if os.geteuid() == 0:
                os.chown(path, 65534, 65534)
        if os.geteuid() == 0:
            os.chown(home, 65534, 65534)
        home.chmod(directory_mode)
        (out,) = finish([start(DENIED, path)])
        assert str(path) in out
        assert "Check the permissions" in out
        home.chmod(0o700)
        assert sorted(p.name for p in home.iterdir()) == ([] if file_mode is None else ["q.db"])
    finally:
        home.chmod(0o700)
        shutil.rmtree(home)
