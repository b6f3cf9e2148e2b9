"""Finds every command that a shell line would run, whatever they are joined, wrapped or hidden in."""

from functools import lru_cache

from attrs import evolve

from quillback.inspectors import shell_syntax_tree as syntax
from quillback.inspectors.shell_findings import Around, Findings, TooMuchError
from quillback.inspectors.shell_script import Assignment, Command, Script, hole
from quillback.inspectors.shell_syntax_walk import DEPTH, Walk
from quillback.inspectors.shell_syntax_words import MisreadError
from quillback.inspectors.shell_unwrap import TRANSPARENT, Code, Runs, Unclear, unwrap
from quillback.inspectors.shell_variables import dangerous

LINE_LIMIT = 64 * 1024
_CACHED_LINES = 32
_SETTERS = frozenset({"read", "mapfile", "readarray", "printf", "getopts"})


@lru_cache(maxsize=_CACHED_LINES)
def parse(line: str) -> Script:
    """The commands of a line for bash, and what could not be understood in it. Never raises; its time is bounded."""
    finder = _Finder()
    finder.read(line, Around())
    found = finder.findings
    if found.evaluates and found.holds_code:
        found.unclear("a text with a command in it may be run by a computation")
    return Script(line, tuple(found.commands), tuple(found.reasons))


class _Finder:
    """Reads texts and unwraps what it finds, until nothing new comes."""

    def __init__(self) -> None:
        self.findings = Findings(self.read, self._unwrap)
        self._left = LINE_LIMIT

    def read(self, text: str, around: Around) -> None:
        """Adds the commands of `text` to the findings."""
        self._left -= len(text)
        if self._left < 0:
            self.findings.unclear("it is too long to be looked into")
            return
        if around.depth > DEPTH:
            self.findings.unclear("it is nested too deep to be looked into")
            return
        if syntax.odd_characters(text):
            self.findings.unclear("it holds control characters")
            text = syntax.plain(text)
        source = text.encode()
        try:
            root = syntax.tree(source, self.findings.deadline)
            if root.has_error:
                self.findings.unclear("it has a syntax error, or syntax that is not known here")
            syntax.check_ends(root, source)
            Walk(source, self.findings).visit(root, around)
        except (syntax.UnreadableError, MisreadError) as error:
            self.findings.unclear(str(error))
        except (TooMuchError, RecursionError):
            self.findings.unclear("it holds too much to be looked into")

    def _unwrap(self, command: Command, around: Around) -> bool:
        """Adds what `command` runs in turn; whether it runs anything."""
        if command.words and command.name is None:
            self.findings.unclear(f"which program runs is not known: {command.words[0].source[:60]}")
        for assignment in command.assignments:
            if dangerous(assignment):
                self.findings.unclear(f"it sets {assignment.name}, which can make other programs run")
        if command.name in _SETTERS and any(dangerous(Assignment(w.text or "", None)) for w in command.args):
            self.findings.unclear(f"{command.name} sets a variable that can make other programs run")
        if around.depth > DEPTH:
            self.findings.unclear("it is nested too deep to be looked into")
            return False
        index = self.findings.count - 1
        steps = unwrap(command)
        runs = False
        for step in steps:
            runs = isinstance(step, Runs | Code) or runs
        if runs and command.name in TRANSPARENT:
            self.findings.commands[index] = evolve(command, wrapper=True)
        for step in steps:
            self._follow(step, command, around)
        return runs

    def _follow(self, step: Runs | Code | Unclear, command: Command, around: Around) -> None:
        if isinstance(step, Unclear):
            self.findings.unclear(step.reason)
            return
        inside = evolve(
            around,
            via=(*around.via, command.name or "?"),
            privileged=around.privileged or step.privileged,
            remote=around.remote or step.remote,
            depth=around.depth + 1,
        )
        if isinstance(step, Code):
            if step.text.text is None:
                self.findings.unclear(f"the code that {command.name} runs is not known: {step.text.source[:60]}")
                self._guess(step, inside)
            else:
                self.read(step.text.text, evolve(inside, redirects=command.redirects))
            return
        inner = evolve(
            command,
            words=step.words,
            assignments=(*command.assignments, *step.assignments),
            via=inside.via,
            privileged=inside.privileged,
            remote=inside.remote,
        )
        self.findings.add(inner, inside)

    def _guess(self, step: Code, inside: Around) -> None:
        """Reads code with holes as far as it is known, so that what is plainly wrong in it is still seen."""
        shape = step.text.shape.replace(hole().shape, "$_")
        if step.text.shape.strip(hole().shape) and not step.text.inner:
            self.read(shape, inside)
