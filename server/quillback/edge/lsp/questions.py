"""Questions to the user of a plain LSP client: as a message with buttons and, beside it, as code actions.

Some clients have no such messages, so a question stays open until one of the two ways has answered it.
"""

import asyncio
import itertools
import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from attrs import field, frozen

from quillback.core.ports import EditorError
from quillback.edge.lsp.client import LspClient
from quillback_protocol.jsonrpc import REQUEST_CANCELLED

AT_ONCE = 0.2
"""Seconds in which nobody reads a question: a dismissal that comes sooner is that of a client without questions."""
log = logging.getLogger(__name__)


@frozen(eq=False)
class Question:
    """`short` names it in one line; `titles` are its answers. `answer` is the one that a code action gave."""

    id: str
    short: str
    titles: tuple[str, ...]
    answer: "asyncio.Future[str]" = field(repr=False)


class Questions:
    def __init__(self, client: LspClient) -> None:
        self._client = client
        self._ids = itertools.count(1)
        self._open: dict[str, Question] = {}

    def __iter__(self) -> Iterator[Question]:
        """The open ones, oldest first."""
        return iter(list(self._open.values()))

    def answer(self, question_id: str, title: str) -> bool:
        """Answer an open question; whether it was open and the answer one of its own."""
        question = self._open.get(question_id)
        if question is None or title not in question.titles or question.answer.done():
            return False
        question.answer.set_result(title)
        return True

    async def ask(self, text: str, short: str, titles: Sequence[str]) -> str | None:
        """One of `titles`, or None for no answer. Ends by answer, cancel or disconnect. Raises EditorError."""
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        question = Question(f"question-{next(self._ids)}", short, tuple(titles), future)
        self._open[question.id] = question
        try:
            return await self._asked(question, text)
        finally:
            del self._open[question.id]

    async def _asked(self, question: Question, text: str) -> str | None:
        clock = asyncio.get_running_loop().time
        if self._client.asks:
            begun = clock()
            request = asyncio.create_task(self._client.choose(text, question.titles))
            try:
                both: set[asyncio.Future[Any]] = {request, question.answer}
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
                if question.answer.done():
                    return question.answer.result()
                picked = request.result()
                if picked is not None or clock() - begun > AT_ONCE:
                    return picked
            except EditorError as error:
                if not self._client.connected:
                    raise
                if error.code == REQUEST_CANCELLED:
                    return None
                log.info("%s; the question can be answered by a code action", error)
            finally:
                request.cancel()
                with suppress(asyncio.CancelledError, EditorError):
                    await request
        answers = ", ".join(f"“{title}”" for title in question.titles)
        self._client.message(f"{text}\nAnswer by a code action: {answers}.")
        return await question.answer
