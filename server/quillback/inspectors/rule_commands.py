"""Command lines as permission rules see them: every command of the line, however it is joined or wrapped."""

from attrs import frozen

from quillback.inspectors.rule_subject import Subject
from quillback.inspectors.shell_rules import hits, matches, rule_commands, valid_pattern
from quillback.inspectors.shell_script import Command
from quillback.inspectors.shell_syntax import parse


def command_subject(line: str) -> Subject:
    script = parse(line)
    commands = rule_commands(script)
    parts = [CommandPart(c) for c in commands]
    wrappers = [CommandPart(c) for c in script.commands if c.wrapper]
    if not commands or script.unresolved:
        return Subject("", parts, wrappers)
    plain = len(script.commands) == 1 and _plain(commands[0])
    return Subject(commands[0].text if plain else line.strip(), parts, wrappers)


def bad_command(argument: str) -> str:
    """Why a rule for the shell can never match anything, or an empty string."""
    if valid_pattern(argument):
        return ""
    return "a rule names one command, such as 'git status', or 'git log:*' for all that begin with these words"


@frozen
class CommandPart:
    command: Command

    def stored(self, argument: str) -> bool:
        """The very same command, written out in the line and not handed to another one to run."""
        return argument == self.command.text and _plain(self.command)

    def covered(self, argument: str | None) -> bool:
        return argument is None or matches(argument, self.command)

    def hit(self, argument: str | None, *, literal: bool) -> bool:
        if argument is None:
            return not literal
        if argument == self.command.text:
            return True
        return not (literal and argument.endswith(":*")) and hits(argument, self.command)


def _plain(command: Command) -> bool:
    """Whether its text says all there is to it."""
    known = all(word.text is not None for word in command.words)
    return known and not command.via and not command.redirects and matches(command.text, command)
