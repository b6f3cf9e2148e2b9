"""Reads messages of transcripts: JSON, and what `pattern` adds to it."""

import json
import re
from typing import NoReturn

from quillback.transcripts.pattern import NAME, Arr, Kind, Name, Obj, Pattern, Regex, Scalar, Words

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<mark>[{}\[\]:,])
    |(?P<rest>\.\.\.)
    |(?P<string>"(?:[^"\\\n]|\\.)*")
    |(?P<regex>/(?:[^/\\\n]|\\.)+/)
    |(?P<kind><\w+>)
    |(?P<name>\$(?:CWD\b|[a-z]\w*))
    |(?P<word>-?\d[\d.eE+-]*|[A-Za-z]+)""",
    re.VERBOSE,
)
_WORDS = {"true": True, "false": False, "null": None}
_ALLOWED = 'JSON, "...", <kind>, $name or /pattern/'
_SHOWN = 30


class PatternError(ValueError):
    """`line` counts from 0, within the text that was read."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line


def read_pattern(text: str) -> Pattern:
    """Raises PatternError."""
    reader = _Reader(text)
    pattern = reader.value()
    if reader.kind:
        reader.wrong(f"`{reader.shown()}` comes after the end of the message")
    return pattern


class _Reader:
    """One token ahead: `kind` is empty at the end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = self._end = 0
        self.kind = self.token = ""
        self._next()

    def value(self) -> Pattern:
        kind, token = self.kind, self.token
        match kind, token:
            case "mark", "{":
                return self._object()
            case "mark", "[":
                return self._array()
            case "string", _:
                pattern: Pattern = Words(self._pieces(token[1:-1]))
            case "regex", _:
                pattern = self._regex(token[1:-1])
            case "kind", _:
                pattern = self._kind(token[1:-1])
            case "name", _:
                pattern = Name(token[1:])
            case "word", _:
                pattern = Scalar(self._word(token))
            case _:
                self.wrong(f"a value is missing here, before `{self.shown()}`; it may be {_ALLOWED}")
        self._next()
        return pattern

    def _object(self) -> Obj:
        self._next()
        fields: dict[str, Pattern] = {}
        rest = False
        while not self._is("}"):
            if rest:
                self.wrong("`...` must be the last thing in an object")
            if self.kind == "rest":
                rest = True
                self._next()
            else:
                key = self._key(fields)
                fields[key] = self.value()
            self._comma("}")
        self._next()
        return Obj(tuple(fields.items()), rest)

    def _key(self, fields: dict[str, Pattern]) -> str:
        if self.kind != "string":
            self.wrong(f'a key such as "id" is missing here, before `{self.shown()}`')
        key = self._string(self.token[1:-1])
        if key in fields:
            self.wrong(f"the key {key!r} is there twice")
        self._next()
        if not self._is(":"):
            self.wrong(f"a colon is missing after the key {key!r}")
        self._next()
        return key

    def _array(self) -> Arr:
        self._next()
        items: list[Pattern] = []
        rest = False
        while not self._is("]"):
            if rest:
                self.wrong("`...` must be the last thing in an array")
            if self.kind == "rest":
                rest = True
                self._next()
            else:
                items.append(self.value())
            self._comma("]")
        self._next()
        return Arr(tuple(items), rest)

    def _comma(self, end: str) -> None:
        if self._is(","):
            self._next()
            if self._is(end):
                self.wrong(f"there is nothing between the comma and `{end}`")
        elif not self._is(end):
            self.wrong(f"a comma or `{end}` is missing before `{self.shown()}`")

    # ------------------------------------------------------------ single values

    def _pieces(self, raw: str) -> tuple[str | Name, ...]:
        """An escaped dollar, \\u0024, begins no name."""
        pieces: list[str | Name] = []
        start = 0
        for found in NAME.finditer(raw):
            pieces += [self._string(raw[start : found.start()]), Name(found[1])]
            start = found.end()
        pieces.append(self._string(raw[start:]))
        return tuple(piece for piece in pieces if piece != "")

    def _string(self, raw: str) -> str:
        try:
            return str(json.loads(f'"{raw}"'))
        except ValueError as error:
            self.wrong(f"`{self.shown()}` is no JSON string: {str(error).split(':')[0]}")

    def _regex(self, raw: str) -> Regex:
        source = raw.replace(r"\/", "/")
        try:
            re.compile(source)
        except re.error as error:
            self.wrong(f"`/{raw}/` is no pattern: {error}")
        return Regex(source)

    def _kind(self, name: str) -> Kind:
        if name not in list(Kind):
            self.wrong(f"`<{name}>` is not known; there are {', '.join(f'<{kind}>' for kind in Kind)}")
        return Kind(name)

    def _word(self, token: str) -> object:
        if token in _WORDS:
            return _WORDS[token]
        try:
            return json.loads(token)
        except ValueError:
            self.wrong(f"`{token}` means nothing here; a value may be {_ALLOWED}")

    # ------------------------------------------------------------ tokens

    def wrong(self, what: str) -> NoReturn:
        raise PatternError(self._text.count("\n", 0, self._at), what)

    def shown(self) -> str:
        return self.token[:_SHOWN] or "the end"

    def _is(self, mark: str) -> bool:
        return self.kind == "mark" and self.token == mark

    def _next(self) -> None:
        while True:
            self._at = self._end
            found = _TOKEN.match(self._text, self._at)
            if found is None:
                self.kind = self.token = ""
                if self._at < len(self._text):
                    piece = self._text[self._at :].split("\n")[0][:_SHOWN]
                    self.wrong(f"`{piece}` cannot be read; a value may be {_ALLOWED}")
                return
            self._end = found.end()
            self.kind, self.token = found.lastgroup or "", found[0]
            if self.kind != "space":
                return
