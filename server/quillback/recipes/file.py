"""What a recipe's file says: read, checked, with every problem named by file, line and key."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath

from attrs import evolve, frozen

from quillback.core.message import JsonObject
from quillback.core.rules import Mode
from quillback.core.turn_types import Check, Limits
from quillback.documents.reading import UnfitError, read_bytes
from quillback.recipes import placeholders
from quillback.recipes.document import read_document
from quillback.recipes.errors import RecipeError
from quillback.recipes.output import wrong_with_schema
from quillback.recipes.parameters import BadValue, Kind, Parameter
from quillback.recipes.table import Table

SIZE_LIMIT = 256 * 1024
MOST_STEPS = 1_000_000
MOST_CHECKS = 40
CHECK_SECONDS = 300.0
ON_FAILURE_SECONDS = 600.0
_DAY, _YEAR = 86_400.0, 31_536_000.0
_KEYS = (
    *("title", "description", "instructions", "prompt", "parameters", "checks", "retries", "fresh", "on_failure"),
    *("output", "model", "mode", "max_steps", "max_cost", "max_duration"),
)
_PARAMETER_KEYS = ("key", "description", "type", "choices", "default", "required")
_CHECK_KEYS = ("command", "timeout")


@frozen(kw_only=True)
class RecipeFile:
    """A recipe with its placeholders still in it. Only `prompt` is never empty."""

    file: str
    prompt: str
    title: str = ""
    description: str = ""
    instructions: str = ""
    parameters: tuple[Parameter, ...] = ()
    checks: tuple[Check, ...] = ()
    retries: int = 3
    fresh: bool = False
    on_failure: Check | None = None
    output: JsonObject | None = None
    model: str = ""
    mode: Mode | None = None
    limits: Limits | None = None


def load_recipe(path: Path) -> RecipeFile:
    """Raises RecipeError."""
    return parse_recipe(read_file(path), str(path))


def read_file(path: Path) -> bytes:
    """A pipe or a device is not waited for. Raises RecipeError."""
    try:
        return read_bytes(path, SIZE_LIMIT)
    except UnfitError as unfit:
        why = str(unfit).removeprefix("it ")
    except (OSError, ValueError) as error:
        why = f"cannot be read: {error.strerror if isinstance(error, OSError) else error}"
    raise RecipeError([f"{path}: {why}; give the path of a recipe"])


def parse_recipe(data: bytes | RecipeError, name: str) -> RecipeFile:
    """`name` is what errors call the file; `data` may be why it could not be read. Raises RecipeError."""
    text = _text(data, name)
    document = read_document(text, name)
    if not isinstance(document.value, dict):
        raise RecipeError([f"{document.place()}: a recipe is a table of keys; the least is a line such as prompt: ..."])
    table = Table(document, document.value)
    table.only(_KEYS)
    recipe = _recipe(table, name)
    _look_at_placeholders(table, recipe)
    if table.problems:
        raise RecipeError(table.problems)
    return recipe


def _text(data: bytes | RecipeError, name: str) -> str:
    if isinstance(data, RecipeError):
        raise data
    if len(data) > SIZE_LIMIT:
        raise RecipeError([f"{name}: a recipe has at most {SIZE_LIMIT // 1024} KiB"])
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RecipeError([f"{name}:{line}: the text is not UTF-8"]) from None


def _recipe(table: Table, name: str) -> RecipeFile:
    prompt, mode, output = table.text("prompt"), table.choice("mode", Mode), _output(table)
    if not prompt.strip() and not any(": prompt: " in problem for problem in table.problems):
        table.wrong("prompt", "is missing or empty; write what the model is to do")
    if mode is Mode.CHAT and output is not None:
        table.wrong("mode", "in chat mode no tool runs, and so there is no output; use another mode")
    return RecipeFile(
        file=name,
        prompt=prompt,
        title=table.text("title") or PurePath(name).stem,
        description=table.text("description"),
        instructions=table.text("instructions"),
        parameters=_parameters(table),
        checks=_checks(table),
        retries=table.whole("retries", 0, 100, 3),
        fresh=table.flag("fresh"),
        on_failure=_check(table, "on_failure", table.values.get("on_failure"), ON_FAILURE_SECONDS),
        output=output,
        model=table.text("model").strip(),
        mode=mode,
        limits=_limits(table),
    )


def _output(table: Table) -> JsonObject | None:
    given = table.values.get("output")
    if given is None or (schema := table.at("output", given)) is None:
        return None
    if wrong := wrong_with_schema(schema.values):
        table.wrong("output", wrong)
    return schema.values


def _limits(table: Table) -> Limits | None:
    limits = Limits(
        table.whole("max_steps", 1, MOST_STEPS, MOST_STEPS),
        table.amount("max_cost", MOST_STEPS, "US dollars"),
        table.amount("max_duration", _YEAR, "seconds"),
    )
    return limits if limits != Limits(MOST_STEPS) else None


# ---------------------------------------------------------------- checks


def _checks(table: Table) -> tuple[Check, ...]:
    items = table.items("checks")
    if len(items) > MOST_CHECKS:
        table.wrong("checks", f"there are {len(items)}; at most {MOST_CHECKS} can be told of, so put some in a script")
    found = (_check(table, "checks", item, CHECK_SECONDS, i) for i, item in enumerate(items[:MOST_CHECKS]))
    return tuple(check for check in found if check is not None)


def _check(table: Table, key: str, value: object, seconds: float, *index: int) -> Check | None:
    """A command by itself, or a table with `command` and `timeout`."""
    if value is None and not index:
        return None
    if isinstance(value, dict) and (inner := table.at(key, value, *index)) is not None:
        inner.only(_CHECK_KEYS)
        check = Check(inner.text("command"), inner.amount("timeout", _DAY, "seconds") or seconds)
        if check.command.strip():
            return check
    elif isinstance(value, str) and value.strip():
        return Check(value, seconds)
    table.wrong(key, "must be a command (put it in quotes), or command: and timeout: (seconds)", *index)
    return None


# ---------------------------------------------------------------- parameters


def _parameters(table: Table) -> tuple[Parameter, ...]:
    found: dict[str, Parameter] = {}
    for i, item in enumerate(table.items("parameters")):
        inner = table.at("parameters", item, i)
        parameter = _parameter(inner) if inner is not None else None
        if inner is not None and parameter is not None and parameter.key in found:
            inner.wrong("key", f"{parameter.key} is there twice; give each parameter another key")
        elif parameter is not None:
            found[parameter.key] = parameter
    return tuple(found.values())


def _parameter(table: Table) -> Parameter | None:
    table.only(_PARAMETER_KEYS)
    key, choices = table.text("key"), _choices(table)
    if not re.fullmatch(placeholders.NAME, key):
        table.wrong("key", f"{key!r} is no key; use letters, digits, _ and -, and begin with a letter")
        return None
    kind = table.choice("type", Kind) or (Kind.CHOICE if choices else Kind.STRING)
    if bool(choices) is not (kind is Kind.CHOICE):
        table.wrong("choices", "go with type: choice, and type: choice with a list of choices")
    parameter = Parameter(key, " ".join(table.text("description").split()), kind, None, choices)
    return evolve(parameter, default=_default(table, parameter))


def _choices(table: Table) -> tuple[str, ...]:
    items = table.items("choices")
    for i, item in enumerate(items):
        if not isinstance(item, str):
            table.wrong("choices", f"must be texts; put {str(item).lower()} in quotes", i)
    return tuple(item for item in items if isinstance(item, str))


def _default(table: Table, parameter: Parameter) -> str | None:
    value, required = table.values.get("default"), table.values.get("required")
    if required is not None and table.flag("required") and value is not None:
        table.wrong("required", "a parameter with a default is never missing; leave one of the two out")
    if value is None:
        return "" if required is False else None
    try:
        return parameter.read(_as_text(value, parameter.kind))
    except BadValue as bad:
        table.wrong("default", f"{value!r} is not allowed; use {bad}")
        return None


def _as_text(value: object, kind: Kind) -> str:
    """Raises BadValue for what YAML read as something else than the parameter takes."""
    if isinstance(value, bool):
        text = "true" if value else "false" if kind is Kind.BOOLEAN else None
    elif isinstance(value, int | float):
        text = str(value) if kind is Kind.NUMBER else None
    else:
        text = value if isinstance(value, str) else None
    if text is None:
        raise BadValue("a text in quotes" if kind in (Kind.STRING, Kind.CHOICE) else f"a {kind.value}")
    return text


# ---------------------------------------------------------------- placeholders


def _look_at_placeholders(table: Table, recipe: RecipeFile) -> None:
    keys = [parameter.key for parameter in recipe.parameters]
    for key, text in (("prompt", recipe.prompt), ("instructions", recipe.instructions)):
        _report(table, placeholders.wrong(text, keys), key)
    for i, check in enumerate(recipe.checks):
        _report(table, _in_command(check.command, keys), "checks", i)
    if recipe.on_failure is not None:
        _report(table, _in_command(recipe.on_failure.command, keys), "on_failure")


def _in_command(command: str, keys: Sequence[str]) -> Iterable[str]:
    unsafe = placeholders.wrong_in_command(command)
    return [*placeholders.wrong(command, keys), *([unsafe] if unsafe else [])]


def _report(table: Table, problems: Iterable[str], key: str, *index: int) -> None:
    for problem in problems:
        table.wrong(key, problem, *index)
