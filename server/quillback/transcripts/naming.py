"""Turns a message that came into one that can be expected again: ids become names, what always differs patterns."""

import json
import re
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from quillback.transcripts.pattern import CWD, Arr, Kind, Name, Obj, Pattern, Scalar, Words

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?")
_TOKEN = re.compile(r"[\w-]{8,}")
"""What ids within a text look like; shorter ones are no ids there."""
_IDS = {"sessionId": "session", "toolCallId": "call", "terminalId": "terminal", "elicitationId": "elicitation"}
_LISTS = {"supersedes": "message"}
_REQUEST = "request"
_VOLATILE = {
    **dict.fromkeys(("updatedAt", "createdAt"), Kind.STRING),
    **dict.fromkeys(("amount", "milliseconds", "cost"), Kind.NUMBER),
    **dict.fromkeys(("used", "at", "inputTokens", "outputTokens", "totalTokens", "thoughtTokens"), Kind.INT),
    **dict.fromkeys(("cachedReadTokens", "cachedWriteTokens"), Kind.INT),
}
_VERSIONED = ("agentInfo", "quillback.dev")


class Naming:
    """`names` are those of the transcript so far, shared with whoever else gives values to names.

    With `plain` nothing new gets a name, and what differs each time is written as it came: to be shown to people.
    """

    def __init__(self, names: MutableMapping[str, object], *, plain: bool = False) -> None:
        self._names = names
        self._named = not plain
        self._by_value: dict[str, str] = {}
        self._requests: dict[str, str] = {}
        self._seen = 0

    def came(self, message: Mapping[str, Any]) -> Obj:
        """A message of the agent. New ids in it get names, in the order in which they come."""
        self._learn()
        fields: list[tuple[str, Pattern]] = []
        for key, value in message.items():
            if key == "id" and "method" in message and self._named:
                fields.append((key, self._request(value)))
            else:
                fields.append((key, self._pattern(key, value, named=self._named)))
        return Obj(tuple(fields))

    def sent(self, message: Mapping[str, Any]) -> Obj:
        """A message of the client: literally, but for what the agent gave it."""
        self._learn()
        fields: list[tuple[str, Pattern]] = []
        for key, value in message.items():
            if key == "id" and "method" not in message and _json(value) in self._requests:
                fields.append((key, Name(self._requests[_json(value)])))
            else:
                fields.append((key, self._pattern(key, value, named=False)))
        return Obj(tuple(fields))

    def value(self, key: str, value: object) -> Pattern:
        """Like `came`, for a part of a message."""
        self._learn()
        return self._pattern(key, value, named=self._named)

    # ------------------------------------------------------------ values

    def _pattern(self, key: str, value: object, *, named: bool) -> Pattern:
        match value:
            case dict():
                return Obj(tuple((k, self._field(key, k, v, named=named)) for k, v in value.items()))
            case list():
                of = f"{_LISTS[key]}Id" if key in _LISTS else ""
                return Arr(tuple(self._pattern(of, item, named=named) for item in value))
            case str():
                return self._string(key, value, named=named)
            case _ if key == "requestId" and _json(value) in self._requests:
                return Name(self._requests[_json(value)])
            case int() | float() if named and key in _VOLATILE and not isinstance(value, bool):
                return _VOLATILE[key]
            case _:
                return Scalar(value)

    def _field(self, parent: str, key: str, value: object, *, named: bool) -> Pattern:
        if named and key == "version" and parent in _VERSIONED and isinstance(value, str):
            return Kind.STRING
        return self._pattern(key, value, named=named)

    def _string(self, key: str, value: str, *, named: bool) -> Pattern:
        if value in self._by_value and value:
            return _whole(self._by_value[value])
        if named:
            if value and (of := _id_of(key)):
                return self._new(of, value)
            if _VOLATILE.get(key) is Kind.STRING or _TIME.fullmatch(value):
                return Kind.STRING
        return Words(tuple(self._pieces(value)))

    def _pieces(self, text: str) -> Iterator[str | Name]:
        """The text with the directory and the ids that are known as names."""
        start = 0
        for begin, end, name in self._places(text):
            if begin > start:
                yield text[start:begin]
            yield Name(name)
            start = end
        if start < len(text):
            yield text[start:]

    def _places(self, text: str) -> Iterator[tuple[int, int, str]]:
        cwd = self._names.get(CWD)
        marks = [(f.start(), f.end(), self._by_value[f[0]]) for f in _TOKEN.finditer(text) if f[0] in self._by_value]
        if isinstance(cwd, str):
            marks += [(f.start(), f.end(), CWD) for f in re.finditer(rf"{re.escape(cwd)}(?![\w-])", text)]
        end = 0
        for mark in sorted(marks, key=lambda mark: (mark[0], -mark[1])):
            if mark[0] >= end:
                yield mark
                end = mark[1]

    # ------------------------------------------------------------ names

    def _request(self, value: object) -> Pattern:
        if not isinstance(value, int | str):
            return Scalar(value)
        name = self._requests[_json(value)] = self._free(_REQUEST)
        self._names[name] = value
        self._seen += 1
        return Name(name)

    def _new(self, of: str, value: str) -> Name:
        name = self._free(of)
        self._names[name] = value
        self._by_value[value] = name
        self._seen += 1
        return Name(name)

    def _free(self, of: str) -> str:
        if of not in self._names:
            return of
        number = 2
        while f"{of}{number}" in self._names:
            number += 1
        return f"{of}{number}"

    def _learn(self) -> None:
        """Names that others have given."""
        if len(self._names) == self._seen:
            return
        requests = set(self._requests.values())
        for name, value in self._names.items():
            if isinstance(value, str) and value and name not in requests:
                self._by_value.setdefault(value, name)
        self._seen = len(self._names)


def _whole(name: str) -> Pattern:
    """The directory is a piece of texts, ids are values."""
    return Words((Name(name),)) if name == CWD else Name(name)


def _id_of(key: str) -> str:
    return "message" if key.lower().endswith("messageid") else _IDS.get(key, "")


def _json(value: object) -> str:
    return json.dumps(value)
