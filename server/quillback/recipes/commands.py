"""Recipes as slash commands: `/name key=value ...`, from the user's own folder and from a trusted project."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath

from attrs import frozen

from quillback.core.commands import CommandInfo, CommandResult, Desk, Expand, LeftOut, is_name, refusal
from quillback.core.ports import Mode
from quillback.core.text import one_line
from quillback.recipes.errors import RecipeError

SUFFIXES = (".yaml", ".yml")
FILES_LIMIT = 200
ORIGIN = "Recipes"
BAD_NAME = "the name of a recipe that is a command has letters, digits, - and _ only"
BROKEN = "has errors; call it to see them"
_STRICT = (Mode.AUTO, Mode.SMART, Mode.APPROVE, Mode.CHAT)


@frozen
class _Found:
    """`data` is the file as it is, or as the user trusted it; or why it cannot be read."""

    path: str
    data: bytes | RecipeError
    own: bool

    @property
    def name(self) -> str:
        return PurePath(self.path).stem


class RecipeCommands:
    """Implements FileSource. `folder` is the user's. `project` gives the recipes of a trusted project by their paths
    below it, and nothing where it is not trusted. Of two with one name the user's counts."""

    def __init__(self, folder: Path, project: Callable[[], Mapping[str, bytes]] = dict) -> None:
        self._folder = folder
        self._project = project
        self._infos: dict[_Found, CommandInfo] = {}
        self._left_out: list[LeftOut] = []

    def available(self) -> tuple[CommandInfo, ...]:
        found = self._found().values()
        self._infos = {one: self._infos.get(one) or _info(one) for one in found}
        return tuple(self._infos.values())

    async def run(self, name: str, argument: str, desk: Desk) -> CommandResult | None:
        found = self._found().get(name)
        if found is None:
            return None
        try:
            return _started(found, argument, desk)
        except RecipeError as error:
            return refusal("\n".join(f"- {problem}" for problem in error.problems))
        except ValueError as error:
            return refusal(str(error))

    def left_out(self) -> Sequence[LeftOut]:
        self._found()
        return self._left_out

    def _found(self) -> dict[str, _Found]:
        """By name, sorted."""
        named: dict[str, _Found] = {}
        self._left_out = []
        for found in (*_in_folder(self._folder), *_of_project(self._project())):
            if not is_name(found.name):
                self._left_out.append(LeftOut(found.path, found.name, BAD_NAME))
            elif named.setdefault(found.name, found) is not found:
                self._left_out.append(LeftOut(found.path, found.name, f"another recipe is `/{found.name}`"))
        return dict(sorted(named.items()))


def _in_folder(folder: Path) -> Iterator[_Found]:
    try:
        paths = sorted(path for path in folder.iterdir() if _is_recipe(path))[:FILES_LIMIT]
    except OSError:
        return
    for path in paths:
        from quillback.recipes.file import read_file  # YAML takes a while to load, and most users have no recipes

        try:
            yield _Found(str(path), read_file(path), own=True)
        except RecipeError as error:
            yield _Found(str(path), error, own=True)


def _of_project(files: Mapping[str, bytes]) -> Iterator[_Found]:
    yield from (_Found(path, data, own=False) for path, data in sorted(files.items()) if _is_recipe(PurePath(path)))


def _is_recipe(path: PurePath) -> bool:
    return path.suffix in SUFFIXES


def _info(found: _Found) -> CommandInfo:
    from quillback.recipes.file import parse_recipe

    try:
        recipe = parse_recipe(found.data, found.path)
    except RecipeError:
        return CommandInfo(found.name, BROKEN, "", ORIGIN)
    hint = " ".join(parameter.hint for parameter in recipe.parameters)
    return CommandInfo(found.name, one_line(recipe.description or recipe.title), one_line(hint), ORIGIN)


def _words(argument: str) -> list[str]:
    """Raises ValueError."""
    try:
        return shlex.split(argument)
    except ValueError as error:
        told = f'{error}; put values with spaces or quotes in them in double quotes: key="it\'s here"'
        raise ValueError(told) from None


def _started(found: _Found, argument: str, desk: Desk) -> Expand:
    """What a recipe wants of the session is set: a stricter mode, and, where it is the user's, the model.

    Raises RecipeError, ValueError.
    """
    from quillback.recipes.file import parse_recipe
    from quillback.recipes.use import prepare

    recipe = parse_recipe(found.data, found.path)
    expand = prepare(recipe, _words(argument))
    mode = stricter(desk.record.mode, recipe.mode)
    if mode is Mode.CHAT and recipe.output is not None:
        raise ValueError(f"/{found.name} asks for an output, and in chat mode no tool runs; change the mode first")
    if recipe.model and found.own:
        desk.set_model(recipe.model)
    if mode is not desk.record.mode:
        desk.set_mode(mode)
    return expand


def stricter(mode: Mode, other: Mode | None) -> Mode:
    """The one of the two in which less runs without asking."""
    return mode if other is None else max(mode, other, key=_STRICT.index)
