"""What is wrong with a transcript itself, for the person who wrote it."""


class TranscriptError(ValueError):
    """The file cannot be run; the text names file and line, and what is allowed."""

    def __init__(self, place: str, line: int, what: str) -> None:
        super().__init__(f"{place}:{line}: {what}")
        self.line = line
