"""Messages as they stand in reports: one short line."""

import json

LENGTH = 400
_STRING = 160


def short(value: object, length: int = LENGTH) -> str:
    """A JSON value in one line; long texts in it are cut, and at last the whole."""
    text = json.dumps(_cut(value), ensure_ascii=False)
    return text if len(text) <= length else text[: length - 1] + "…"


def _cut(value: object) -> object:
    match value:
        case str() if len(value) > _STRING:
            return f"{value[: _STRING - 1]}…"
        case dict():
            return {key: _cut(item) for key, item in value.items()}
        case list() if len(value) > 5:
            return [*map(_cut, value[:5]), "…"]
        case list():
            return [_cut(item) for item in value]
        case _:
            return value


def of_line(line: bytes) -> str:
    """A line that may be anything."""
    text = line.decode("utf-8", "backslashreplace")
    return json.dumps(text if len(text) <= _STRING else text[: _STRING - 1] + "…", ensure_ascii=False)


def what_came(answer: dict[str, object]) -> str:
    """An answer without its wrapping."""
    if "error" in answer:
        return f"the error {short(answer['error'])}"
    return f"the result {short(answer.get('result'))}"
