"""What a look into a command gives: the commands it runs, the code it runs, or that it cannot be told."""

from attrs import evolve, frozen

from quillback.inspectors.shell_script import UNKNOWN, Assignment, Word


@frozen
class Runs:
    """It runs a command of these words."""

    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()
    privileged: bool = False
    remote: bool = False


@frozen
class Code:
    """It gives a text to a shell."""

    text: Word
    privileged: bool = False
    remote: bool = False


@frozen
class Unclear:
    """What it runs cannot be told; the reason is for the user."""

    reason: str


Step = Runs | Code | Unclear


def with_holes(word: Word, mark: str) -> Word:
    """`word` where `mark` will be replaced by something unknown."""
    if mark not in word.shape:
        return word
    return evolve(word, text=None, shape=word.shape.replace(mark, UNKNOWN))
