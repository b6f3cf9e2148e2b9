"""The HTML page of a session: all that the user saw, nothing that runs or is fetched, and quickly made."""

import time
from html.parser import HTMLParser

import pytest

from quillback.cli.export import FORMATS
from quillback.cli.export_html import as_html
from quillback.core.message import (
    Diff,
    Image,
    Message,
    MessageState,
    Notice,
    PlanEntry,
    Resource,
    ResourceLink,
    Role,
    Summary,
    Text,
    Thinking,
    ToolKind,
    ToolResult,
    ToolUse,
)
from support.pictures import png
from support.stores import message, record

PNG = png()
HOSTILE = (
    '<script>alert(1)</script><img src=x onerror="alert(2)"> [a](javascript:alert(3)) <javascript:alert(4)> '
    "[b](data:text/html;base64,PHNjcmlwdD4=) ![p](https://tracker.example/p.png) [c](JaVaScRiPt:alert(5)) "
    '[d](https://ok.example/" onmouseover="alert(6)) </pre></details></section><svg onload=alert(7)> \x1b[2J "\'&'
)
VOID = {"meta", "img", "br", "hr"}
TAGS = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "header",
        "h1",
        "h2",
        "h3",
        "p",
        "time",
        "section",
        "nav",
    ),
    *(
        "ol",
        "ul",
        "li",
        "article",
        "details",
        "summary",
        "div",
        "pre",
        "code",
        "span",
        "a",
        "img",
        "em",
        "strong",
        "br",
    ),
    *("table", "thead", "tbody", "tr", "th", "td", "blockquote", "hr", "s"),
}


class Page(HTMLParser):
    """Reads a page, and objects to what is not balanced, not known, runs or is fetched."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.pictures: list[str] = []
        self.text = ""
        self.found: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        for name, value in attributes:
            assert not name.startswith("on"), (tag, name)
            assert name in {
                "class",
                "id",
                "href",
                "rel",
                "src",
                "alt",
                "lang",
                "name",
                "content",
                "charset",
                "datetime",
            } | {
                "http-equiv",
                "start",
            }, name
            if name == "href":
                self.links.append(value or "")
            if name == "src":
                self.pictures.append(value or "")
            if name == "class":
                self.found.append((tag, value or ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data if "style" not in self.open else ""


def user(text: str, seq: int = 1, **more) -> Message:
    return message(f"u{seq}", Text(text), seq=seq, role=Role.USER, **more)


def call(id_: str, **more) -> ToolUse:
    return ToolUse(id_, id_, "shell", {"command": "ls <x>"}, title="ls <x>", kind=ToolKind.EXECUTE, **more)


def test_a_page_shows_all_that_the_user_saw():
    stream = [
        user("Make *it* <b>\nplease"),
        message(
            "a1",
            Thinking("I will & do", "sig", "r1"),
            Text(
                "# Done\n\nSee `x < y` and [here](https://ok.example).\n\n```py\nif a < b: pass\n```\n\n|a|\n|-|\n|b|",
                "r2",
            ),
            call("c1"),
            call("c2"),
            call("c3"),
            seq=2,
        ),
        message(
            "t1",
            ToolResult(
                "c1", (Text("told the model"),), shown=(Diff("/w/src/a.py", "old <1>\nsame\n", "new <2>\nsame\n"),)
            ),
            ToolResult("c2", (Text("no <such> file"),), is_error=True),
            seq=3,
            role=Role.TOOL,
        ),
        message("s1", Text("secret of the model"), seq=4, role=Role.USER, visible_to_user=False),
        message("s2", Summary("a summary"), seq=5, role=Role.USER, visible_to_user=False),
        message("a2", Notice("Something <odd>"), Text("Broke", "r3"), seq=6, state=MessageState.INTERRUPTED),
        message(
            "u7",
            Text("Look"),
            Image(PNG, "image/png"),
            Image("<svg/>", "image/svg+xml"),
            ResourceLink("file:///w/a.txt", "a.txt"),
            Resource("file:///w/a.txt", text="linked"),
            Resource("file:///w/b.txt", text="embedded <text>"),
            seq=7,
            role=Role.USER,
            state=MessageState.NOT_RUN,
        ),
        message("t2", ToolResult("lost", (Text("plan"),), plan=(PlanEntry("first & last", "completed"),)), seq=8),
    ]
    text = as_html(record(title="My <title>", cost=0.25), stream)
    page = Page(text)
    assert "<title>My &lt;title&gt;</title>" in text
    for shown in (
        *("Make *it* <b>\nplease", "I will & do", "Done", "x < y", "if a < b: pass", "ls <x>", "no <such> file"),
        *("Something <odd>", "(broke off here)", "Prompt (not run)", "embedded <text>", "first & last", "$0.2500"),
        *(
            "-old <1>",
            "+new <2>",
            " same",
            "(no result)",
            "Attached: file:///w/a.txt",
            "2 prompts",
            "(an image, image/svg+xml)",
        ),
    ):
        assert shown in page.text, shown
    for hidden in ("secret of the model", "a summary", "told the model", "linked"):
        assert hidden not in page.text
    assert page.links == ["#p1", "#p2", "https://ok.example"]
    assert page.pictures == [f"data:image/png;base64,{PNG}"]
    assert {("span", "add"), ("span", "del"), ("details", "call failed"), ("details", "thought")} <= set(page.found)
    assert "prefers-color-scheme: dark" in text
    assert text.count("<pre><code") == 1


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_hostile_text_does_nothing_wherever_it_stands(role):
    name = HOSTILE.replace("/", "_")
    parts = (
        Text(HOSTILE, "r"),
        Thinking(HOSTILE),
        Notice(HOSTILE),
        Image(HOSTILE, "image/png"),
        Image("AAAA", HOSTILE),
    )
    others = (ResourceLink(HOSTILE, HOSTILE), Resource(HOSTILE, text=HOSTILE), Resource(HOSTILE, blob="AA"))
    use = ToolUse("c", "c", HOSTILE, {HOSTILE: HOSTILE}, title=HOSTILE)
    shown = (Diff(f"/w/{name}", HOSTILE, HOSTILE + "\n" + HOSTILE), ResourceLink(HOSTILE, HOSTILE))
    plan = (PlanEntry(HOSTILE, HOSTILE, HOSTILE),)
    result = ToolResult("c", (Text(HOSTILE), Image("<", HOSTILE)), is_error=True, shown=shown, plan=plan)
    stream = [
        message("m1", *parts, *others, seq=1, role=Role(role)),
        message("m2", use, seq=2),
        message("m3", result, seq=3, role=Role.TOOL),
    ]
    text = as_html(record(title=HOSTILE, cwd=f"/w/{name}", model=HOSTILE), stream)
    page = Page(text)
    assert "\x1b" not in text
    assert page.pictures == []
    assert all(link.startswith(("https://ok.example", "https://tracker.example")) for link in page.links)
    assert page.text.count("alert(7)") >= 10, "it is there to be read"


def test_all_formats_of_a_long_session_are_made_quickly():
    words = "Some **words** with `code`, a [link](https://x.example) and\n\n- a list\n- of two\n\n" * 5
    code = "\n".join(f"line {n} of the file" for n in range(80))
    stream: list[Message] = []
    for n in range(0, 2000, 4):
        use = ToolUse(f"c{n}", f"c{n}", "edit_file", {"path": "a.py"}, title="Edit a.py", kind=ToolKind.EDIT)
        diff = Diff("/w/a.py", code, code.replace("line 4", "line four"))
        stream += [
            user(words, n + 1),
            message(f"a{n}", Thinking(words), Text(words, f"r{n}"), use, seq=n + 2),
            message(f"t{n}", ToolResult(use.id, (Text(code),), shown=(diff,)), seq=n + 3, role=Role.TOOL),
            message(f"b{n}", Text(words, f"s{n}"), seq=n + 4),
        ]
    for name, write in FORMATS.items():
        begun = time.process_time()
        assert len(write(record(), stream)) > 1_000_000
        assert time.process_time() - begun < 3, name
