"""Reads hook files: `hooks.json` and, as they are, the settings files of the Claude style."""

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from attrs import frozen

from quillback.core.hooks import HookPoint
from quillback.core.text import one_line
from quillback.hooks.names import other_names, usual_name

SECONDS = 30.0
SECONDS_LIMIT = 600.0
HOOKS_LIMIT = 200
BYTES_LIMIT = 1024 * 1024
TOOL_POINTS = frozenset({HookPoint.PRE_TOOL_USE, HookPoint.POST_TOOL_USE, HookPoint.POST_TOOL_USE_FAILURE})
WORDS = {HookPoint.SESSION_START: "source", HookPoint.PRE_COMPACT: "trigger", HookPoint.SESSION_END: "reason"}
"""What a matcher is tried on where it is not the tool; elsewhere it is not looked at."""
_KEYS = ("type", "command", "timeout", "on_failure")
_CHANGES_MEANING = ("if", "async", "asyncRewake", "args")
"""Keys of such files that are not known here and say when or how a hook runs; the others are for display."""


@frozen
class Hook:
    """A command for one moment. `file` is where it is from, as shown to the user; `seconds` its time limit.

    `pattern` is None where it is for every tool. `strict` says that its failure is a no. `claude` files know tools
    and arguments by other names.
    """

    point: HookPoint
    command: str
    file: str
    matcher: str = ""
    pattern: re.Pattern[str] | None = None
    seconds: float = SECONDS
    strict: bool = False
    claude: bool = False

    @property
    def title(self) -> str:
        return f"the {self.point.value} hook `{one_line(self.command, 80)}` of {self.file}"

    def tool_name(self, tool: str) -> str:
        """What it calls a tool; empty when it is not for it."""
        if self.pattern is None:
            return usual_name(tool) if self.claude else tool
        return next((name for name in (tool, *other_names(tool)) if self.pattern.fullmatch(name)), "")

    def is_for(self, word: str) -> bool:
        """Whether it is for a moment of this kind, such as a start by "resume"; an empty `word` tells nothing."""
        return self.pattern is None or not word or self.pattern.fullmatch(word) is not None


@frozen
class HookSet:
    """What was found. `problems` are sentences for the user, each naming the file and the key."""

    hooks: tuple[Hook, ...] = ()
    problems: tuple[str, ...] = ()


NO_SET = HookSet()


class UserFile:
    """A hook file that counts without trust, read again whenever it is another one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._data = b""
        self._read = NO_SET

    def __call__(self) -> HookSet:
        try:
            data = self._path.read_bytes() if self._path.is_file() else b""
        except OSError as error:
            return HookSet(problems=(f"{self._path} cannot be read: {error.strerror}",))
        if data != self._data:
            self._data, self._read = data, read_hooks(data, str(self._path))
        return self._read


def read_hooks(data: bytes, file: str, *, claude: bool = False) -> HookSet:
    """The hooks in a file; an empty one has none. Whatever is wrong is left out and reported."""
    if not data.strip():
        return NO_SET
    if len(data) > BYTES_LIMIT:
        return HookSet(problems=(f"{file}: it is larger than {BYTES_LIMIT // 1024} KiB",))
    try:
        whole = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return HookSet(problems=(f"{file}: not valid JSON: {error}",))
    if not isinstance(whole, dict):
        return HookSet(problems=(f'{file}: must be an object with the key "hooks"',))
    reader = _Reader(file, claude)
    if not claude:
        reader.unknown("", whole, ("hooks",))
    if "hooks" in whole and whole.get("disableAllHooks") is not True:
        reader.table(whole["hooks"])
    return HookSet(tuple(reader.hooks[:HOOKS_LIMIT]), tuple(reader.problems))


def only_hooks(data: bytes) -> bytes | None:
    """What of a settings file asks for hooks, always in one form; None for nothing, all of it where it is broken."""
    try:
        whole = json.loads(data.decode("utf-8-sig"))
        if not isinstance(whole, dict) or not whole.get("hooks") or whole.get("disableAllHooks") is True:
            return None
        return json.dumps({"hooks": whole["hooks"]}, sort_keys=True).encode()
    except (ValueError, RecursionError):
        return data


class _Reader:
    def __init__(self, file: str, claude: bool) -> None:
        self.hooks: list[Hook] = []
        self.problems: list[str] = []
        self._file = file
        self._claude = claude

    def table(self, table: object) -> None:
        if not isinstance(table, dict):
            self._wrong("hooks", "must be an object with a list for each moment")
            return
        known = ", ".join(HookPoint)
        for name, groups in table.items():
            where = f"hooks.{one_line(name, 60)}"
            if name not in list(HookPoint):
                self._wrong(where, f"this moment is not known, so its hooks never run; known: {known}")
            else:
                self._each(groups, where, partial(self._group, HookPoint(name)))
        if len(self.hooks) > HOOKS_LIMIT:
            self._wrong("hooks", f"only the first {HOOKS_LIMIT} hooks count")

    def unknown(self, where: str, table: Mapping[str, object], known: tuple[str, ...]) -> None:
        for key in table:
            if key not in known:
                at = f"{where}.{one_line(key, 60)}" if where else one_line(key, 60)
                self._wrong(at, f"this key is not known and was ignored; known: {', '.join(known)}")

    def _each(self, items: object, where: str, read: Callable[[Mapping[str, object], str], None]) -> None:
        if not isinstance(items, list):
            self._wrong(where, "must be a list of objects")
            return
        for index, item in enumerate(items):
            if isinstance(item, dict):
                read(item, f"{where}[{index}]")
            else:
                self._wrong(f"{where}[{index}]", "must be an object")

    def _group(self, point: HookPoint, group: Mapping[str, object], where: str) -> None:
        if not self._claude:
            self.unknown(where, group, ("matcher", "hooks"))
        looked_at = point in TOOL_POINTS or point in WORDS
        matcher = (group.get("matcher") or "") if looked_at else ""
        if not isinstance(matcher, str):
            self._wrong(f"{where}.matcher", "must be a regular expression as a string; the group was left out")
            return
        try:
            pattern = None if matcher in ("", "*") else re.compile(matcher)
        except (re.error, RecursionError, OverflowError) as error:
            self._wrong(f"{where}.matcher", f"{matcher!r} is no regular expression ({error}); the group was left out")
            return

        def read(hook: Mapping[str, object], at: str) -> None:
            self._hook(point, matcher, pattern, hook, at)

        self._each(group.get("hooks"), f"{where}.hooks", read)

    def _hook(
        self,
        point: HookPoint,
        matcher: str,
        pattern: re.Pattern[str] | None,
        hook: Mapping[str, object],
        where: str,
    ) -> None:
        kind, command = hook.get("type", "command"), hook.get("command")
        if kind != "command":
            self._wrong(f"{where}.type", f'{kind!r} is not supported; it must be "command"')
        elif not isinstance(command, str) or not command.strip():
            self._wrong(f"{where}.command", "must be a command line as a string")
        else:
            self._look_at_keys(where, hook)
            strict = self._strict(hook, where)
            found = Hook(point, command, self._file, matcher, pattern, self._seconds(hook, where), strict, self._claude)
            self.hooks.append(found)

    def _look_at_keys(self, where: str, hook: Mapping[str, object]) -> None:
        if not self._claude:
            self.unknown(where, hook, _KEYS)
            return
        for key in _CHANGES_MEANING:
            if hook.get(key):
                self._wrong(f"{where}.{key}", "this key is not supported; the hook runs as if it were not there")

    def _seconds(self, hook: Mapping[str, object], where: str) -> float:
        value = hook.get("timeout", SECONDS)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            self._wrong(f"{where}.timeout", f"must be seconds above 0; {SECONDS:g} is used")
            return SECONDS
        return float(min(value, SECONDS_LIMIT))

    def _strict(self, hook: Mapping[str, object], where: str) -> bool:
        """What is not understood is taken as the stricter one."""
        value = hook.get("on_failure", "allow")
        if value not in ("allow", "deny"):
            self._wrong(f"{where}.on_failure", 'must be "allow" or "deny"; "deny" is used')
        return value != "allow"

    def _wrong(self, where: str, what: str) -> None:
        self.problems.append(f"{self._file}: {where}: {what}")
