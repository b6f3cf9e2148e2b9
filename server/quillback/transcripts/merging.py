"""What a message of a transcript has to be for what came: as it is, where that fits."""

from collections.abc import MutableMapping

from quillback.transcripts.naming import Naming
from quillback.transcripts.pattern import Arr, Obj, Pattern, Scalar, Words, fits


def merged(
    pattern: Pattern, value: object, names: MutableMapping[str, object], naming: Naming, key: str = ""
) -> Pattern:
    """Names, patterns and open ends stay where they fit; the rest is replaced by what came. `names` gets new ones."""
    found = fits(pattern, value, names)
    if found is not None:
        names.update(found)
        return pattern
    match pattern, value:
        case Obj(fields=fields, rest=rest), dict():
            kept = [(k, merged(item, value[k], names, naming, k)) for k, item in fields if k in value]
            known = {k for k, _ in kept}
            new = [] if rest else [(k, naming.value(k, v)) for k, v in value.items() if k not in known]
            return Obj((*kept, *new), rest)
        case Arr(items=items, rest=rest), list():
            both = [merged(item, found, names, naming, key) for item, found in zip(items, value, strict=False)]
            new_items = [] if rest else [naming.value(key, item) for item in value[len(both) :]]
            return Arr((*both, *new_items), rest)
        case _:
            return naming.value(key, value)


def kind_of(message: object) -> tuple[object, ...]:
    """What sort of message it is, of a pattern or of one that came: two of a sort may be meant for each other."""
    method = _at(message, "method")
    if method is None:
        return ("answer", _at(message, "id"))
    return (method, _at(message, "params", "update", "sessionUpdate"))


def _at(value: object, *path: str) -> object:
    """The scalar at a place; a name or a pattern there counts as none."""
    for key in path:
        match value:
            case Obj():
                value = value.get(key)
            case dict():
                value = value.get(key)
            case _:
                return None
    match value:
        case Words(pieces=(str(text),)):
            return text
        case Scalar(value=scalar):
            return scalar
        case str() | int():
            return value
        case _:
            return None
