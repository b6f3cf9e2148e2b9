"""Makes of a recipe and its arguments what a turn is given."""

from collections.abc import Mapping, Sequence

from attrs import evolve

from quillback.core.commands import Expand
from quillback.core.message import Text
from quillback.core.turn_types import Check, Recipe
from quillback.recipes.errors import RecipeError
from quillback.recipes.file import RecipeFile
from quillback.recipes.parameters import values_of
from quillback.recipes.placeholders import fill, fill_command


def prepare(recipe: RecipeFile, words: Sequence[str]) -> Expand:
    """The parts for the model, instructions first and the prompt last, and what the turn must bring.

    `words` are `key=value`. Raises RecipeError.
    """
    try:
        values = values_of(recipe.parameters, words)
    except RecipeError as error:
        raise RecipeError(f"{recipe.file}: {problem}" for problem in error.problems) from None
    prompt, instructions = fill(recipe.prompt, values), fill(recipe.instructions, values)
    if not prompt.strip():
        raise RecipeError([f"{recipe.file}: prompt: nothing is left of it with these parameters; give others"])
    texts = [instructions, prompt] if instructions.strip() else [prompt]
    return Expand(tuple(map(Text, texts)), _aim(recipe, values))


def _aim(recipe: RecipeFile, values: Mapping[str, str]) -> Recipe:
    def filled(check: Check) -> Check:
        return evolve(check, command=fill_command(check.command, values))

    return Recipe(
        checks=tuple(map(filled, recipe.checks)),
        retries=recipe.retries,
        fresh=recipe.fresh,
        on_failure=filled(recipe.on_failure) if recipe.on_failure is not None else None,
        output=recipe.output,
        limits=recipe.limits,
    )
