"""The front matter of a Markdown file: a few keys between two lines `---`."""

import re
from collections.abc import Mapping, Sequence

from quillback.documents.reading import UnfitError

LIMIT = 8 * 1024
_FRONT = re.compile(r"---[ \t]*\n(.*?\n)??---[ \t]*(?:\n|\Z)", re.DOTALL)
_LINE = re.compile(r"^([\w-]+):[ \t]*(.*?)[ \t]*$", re.MULTILINE)


def parted(text: str) -> tuple[str, str]:
    """The front matter and the body. A line `---` that has no second one is no front matter. Raises UnfitError."""
    found = _FRONT.match(text)
    if found is None:
        return "", text.strip()
    if len(found[0]) > LIMIT:
        raise UnfitError(f"its front matter is larger than {LIMIT // 1024} KB")
    return found[1] or "", text[found.end() :].strip()


def values(front: str, keys: Sequence[str]) -> Mapping[str, str]:
    """What the front matter says of `keys`. What is no YAML, such as `hint: [file] [line]`, is read line by line."""
    if not front.strip():
        return {}
    import yaml  # takes a while, and most files have no front matter

    try:
        whole = yaml.safe_load(front)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {key: value for key, value in _LINE.findall(front) if key in keys}
    if not isinstance(whole, dict):
        return {}
    return {key: _plain(whole[key]) for key in keys if key in whole}


def _plain(value: object) -> str:
    """YAML takes `[file]` for a list."""
    match value:
        case str():
            return value
        case int() | float():
            return str(value)
        case list() if all(isinstance(item, str) for item in value):
            return f"[{', '.join(value)}]"
        case _:
            return ""
