"""`quillback run --recipe FILE key=value ...`: what the file and the words after it make of a turn."""

from collections.abc import Sequence
from pathlib import Path

from attrs import evolve, frozen

from quillback.cli.exits import USAGE, CliError
from quillback.core.commands import Expand
from quillback.core.message import Text
from quillback.core.ports import Mode
from quillback.recipes.errors import RecipeError


@frozen
class Cooked:
    """`prompt` is what the user sees of it. `model` and `mode` are the recipe's; empty and None where it has none."""

    prompt: str
    expand: Expand
    model: str = ""
    mode: Mode | None = None


def cooked(file: str, words: Sequence[str], below: str = "") -> Cooked:
    """`words` are `key=value`; `below` goes below the prompt. Raises CliError."""
    from quillback.recipes.file import load_recipe
    from quillback.recipes.use import prepare

    try:
        recipe = load_recipe(Path(file))
        expand = prepare(recipe, [word.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for word in words])
    except RecipeError as error:
        raise CliError(str(error), USAGE) from None
    *instructions, prompt = (part.text for part in expand.parts if isinstance(part, Text))
    prompt = f"{prompt}\n\n{below}" if below.strip() else prompt
    parts = tuple(map(Text, (*instructions, prompt)))
    return Cooked(prompt, evolve(expand, parts=parts), recipe.model, recipe.mode)
