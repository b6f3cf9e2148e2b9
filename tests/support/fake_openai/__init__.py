"""A strict stand-in for a chat completions API on 127.0.0.1, used as `support.fake_model` is.

    async with FakeOpenAI() as fake:
        fake.script("fix", Reply(Say("Reading."), Use("read_file", {"path": "a.py"})), Reply(Say("Done.")))
        ...  # point a client at fake.base_url and prompt it with text that contains [[fix]]
        assert fake.violations == []

Every request is checked as the API checks it (see `rules`). `FakeOpenAI(habits=Habits(...))` makes it one of the many
servers that take other parameters. Such refusals, which a client may learn from, are in `fake.refusals` and not in
`fake.violations`, and use no reply up.

Pieces of a reply: Say, Think, Refuse, Use, Together (calls whose pieces come mixed), Wait, Comments, Hang, Drop, Eof,
ErrorChunk, Raw. `Reply(status=429, error={...}, headers={...})` is an HTTP error. See `reply` for every option.
"""

from support.fake_openai.habits import Habits
from support.fake_openai.reply import (
    Comments,
    Drop,
    Eof,
    ErrorChunk,
    Hang,
    Raw,
    Refuse,
    Reply,
    Say,
    Think,
    Together,
    Use,
    Wait,
)
from support.fake_openai.server import FakeOpenAI

__all__ = [
    "Comments",
    "Drop",
    "Eof",
    "ErrorChunk",
    "FakeOpenAI",
    "Habits",
    "Hang",
    "Raw",
    "Refuse",
    "Reply",
    "Say",
    "Think",
    "Together",
    "Use",
    "Wait",
]
