"""Every page of the guide that is a transcript is run, in this process and over the pipes of one of its own."""

from pathlib import Path

import pytest

from quillback.transcripts.document import read_transcript
from quillback.transcripts.running import How, run

pytestmark = pytest.mark.anyio
GUIDE = Path(__file__).resolve().parent.parent.parent / "server" / "guide"
PAGES = [page for page in sorted(GUIDE.rglob("*.md")) if "\n```acp" in page.read_text(encoding="utf-8")]
PROTOCOL = GUIDE / "protocol"


@pytest.mark.parametrize("inside", [True, False], ids=["in-process", "stdio"])
@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
async def test_what_a_page_says_is_what_happens(page: Path, inside: bool):
    transcript = read_transcript(page.read_text(encoding="utf-8"), page.name)
    assert await run(transcript, How(inside=inside, seconds=60)) == ""


def test_every_page_on_the_protocol_is_run_and_listed():
    index = (PROTOCOL / "README.md").read_text(encoding="utf-8")
    pages = [page for page in sorted(PROTOCOL.glob("*.md")) if page.name != "README.md"]
    assert pages
    assert [page.name for page in pages if page not in PAGES] == []
    assert [page.name for page in pages if f"]({page.name})" not in index] == []


async def test_a_page_with_a_mistake_would_fail():
    text = (PROTOCOL / "prompt.md").read_text(encoding="utf-8")
    wrong = text.replace('"used": 1212', '"used": 1213')
    assert wrong != text
    told = await run(read_transcript(wrong, "prompt.md"), How(inside=True, seconds=60))
    assert '-     "used": 1213,' in told
    assert '+     "used": 1212,' in told
