"""Transcripts as files: which blocks they have, and what is said of one that cannot be run."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quillback.transcripts.document import FileBlock, Messages, read_transcript
from quillback.transcripts.errors import TranscriptError
from quillback.transcripts.steps import Mark

PAGE = """\
# Title

Prose with `code`, and a block that means nothing:

```python
-> {"not": "a message"}
```

```file path=src/a.py
print(1)
```

```script
text: hi
```

~~~acp
-> {"id": 1,
    "method": "m"
}
# remark

<- {"id": 1, ...}
<-? {"method": "n"}
<-* {"method": "n"}
<-& {"method": "n"}
skip {"method": "o"}
-> raw {not json
<- raw  two spaces
~~~

````check path=b.md
```
inner
```
````
"""


def test_blocks_are_found_in_their_order_with_their_lines():
    transcript = read_transcript(PAGE, "page.md")
    file, messages, check = transcript.blocks
    assert file == FileBlock("src/a.py", "print(1)\n", check=False, lines=(9, 10))
    assert isinstance(messages, Messages)
    assert [step.mark for step in messages.steps] == [
        *(Mark.SEND, Mark.MUST, Mark.MAY, Mark.MANY, Mark.MIXED, Mark.SKIP, Mark.SEND, Mark.MUST)
    ]
    assert messages.steps[0].lines == (17, 20)
    assert messages.steps[0].source.startswith('-> {"id": 1,\n')
    assert (messages.steps[6].raw, messages.steps[7].raw) == ("{not json", " two spaces")
    assert check == FileBlock("b.md", "```\ninner\n```\n", check=True, lines=(32, 35))


def test_a_script_keeps_its_line_numbers():
    assert read_transcript(PAGE, "page.md").script.split("\n")[13] == "text: hi"


def test_a_block_that_is_not_closed_ends_with_the_file():
    transcript = read_transcript('```acp\n-> {"id": 1, "method": "m"}\n', "page.md")
    assert len(transcript.steps) == 1


def test_lines_may_end_like_those_of_windows():
    assert len(read_transcript('```acp\r\n-> {"id": 1}\r\n```\r\n', "page.md").steps) == 1


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("# nothing\n", 1, "no `acp` block"),
        ("```acp\n-> {\n", 2, "missing"),
        ('```acp\n-> {"id": 1,\n   "x": oops}\n```', 3, "oops"),
        ("```acp\n=> {}\n```", 2, "begins with"),
        ("```acp\n<-! {}\n```", 2, "begins with"),
        ("```acp\n  {}\n```", 2, "continues nothing"),
        ("```acp\n-> [1]\n```", 2, "raw"),
        ("```acp\n->\n```", 2, "missing"),
        ("```acp\n<-? raw x\n```", 2, "raw"),
        ("```file\nx\n```\n```acp\n```", 1, "which file"),
        ("```file path=/etc/passwd\n```\n```acp\n```", 1, "inside the workspace"),
        ("```file path=../x\n```\n```acp\n```", 1, "inside the workspace"),
        ("```fil path=x\n```\n```acp\n```", 1, "`fil` blocks do nothing"),
        ("```script\ntext: a\n```\n```script\ntext: a\n```\n```acp\n```", 4, "one `script` block"),
        ("```acp\n```\n```config\n```", 3, "before the first"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(text: str, line: int, words: str):
    with pytest.raises(TranscriptError) as error:
        read_transcript(text, "page.md")
    assert str(error.value).startswith(f"page.md:{line}: ")
    assert words in str(error.value)


LINES = st.sampled_from(
    [
        "```acp",
        "```",
        "~~~",
        "```file path=a",
        "```script",
        '-> {"id": 1}',
        "<- {",
        "}",
        "  ]",
        "skip",
        "",
        "# x",
        "-> raw",
    ]
)


@settings(deadline=None)
@given(st.lists(LINES | st.text(max_size=20), max_size=12))
def test_any_text_is_a_transcript_or_is_refused_with_a_line(lines: list[str]):
    with suppress(TranscriptError):
        transcript = read_transcript("\n".join(lines), "page.md")
        assert all(0 <= step.lines[0] < step.lines[1] <= len(transcript.lines) for step in transcript.steps)
