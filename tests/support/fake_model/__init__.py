"""A strict stand-in for the Messages API on 127.0.0.1, for tests of the provider and of the whole process.

    async with FakeModel() as fake:
        fake.script("fix", Reply(Say("Reading."), Use("read_file", {"path": "a.py"})), Reply(Say("Done.")))
        ...  # point a client at fake.base_url and prompt it with text that contains [[fix]]
        assert fake.violations == []

Replies: each main request takes the next reply of the last `[[token]]` in its user text (no token: token ""). A reply
may be a function of the request body. `fake.when(predicate, *replies)` goes before tokens. Main requests are those that
offer tools (`FakeModel(is_main=...)` to change it); others, such as summaries, get `fake.side_reply` and use
nothing up; a request for a title gets `fake.title_reply`, an error by default. A request for which no reply is left is
answered 400 and is a violation.

Rules: every request is checked as the API checks it (see `rules`); a broken one is answered 400, is listed in
`fake.violations` and uses no reply up. With `FakeModel(api_key=...)` any other key is answered 401.

Pieces of a reply: Say, Think, Redacted, Use, Open (a block that is never closed), Wait, Pings, Hang, Drop, Eof,
ErrorEvent, Raw. `Reply(status=529, error=("overloaded_error", "Overloaded"), headers={...})` is an HTTP error. See
`reply` for every option (stop, usage, before, cut, newline, event_names, message_stop, content_type, body).

Seen: `fake.requests` (main ones), `fake.side_requests`, `fake.title_requests`; each is a Seen with body, headers, path,
raw, token, reply, violations, `ended` (an Event set when its answer is through) and `gone` (set if the client closed
before that).
`await fake.received(n)` waits for the n-th main request.
"""

from support.fake_model.reply import (
    Drop,
    Eof,
    ErrorEvent,
    Hang,
    Open,
    Pings,
    Raw,
    Redacted,
    Reply,
    Say,
    Think,
    Use,
    Wait,
)
from support.fake_model.server import FakeModel, Seen

__all__ = [
    "Drop",
    "Eof",
    "ErrorEvent",
    "FakeModel",
    "Hang",
    "Open",
    "Pings",
    "Raw",
    "Redacted",
    "Reply",
    "Say",
    "Seen",
    "Think",
    "Use",
    "Wait",
]
