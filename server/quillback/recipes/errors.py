"""What is wrong with a recipe, or with what it was given, in words for the user."""

from collections.abc import Iterable


class RecipeError(ValueError):
    """Each problem names the place and what is allowed there; the text has one a line."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))
