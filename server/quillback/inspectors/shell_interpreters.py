"""Shells and interpreters of other languages: what they run, from their words, a file or standard input."""

import re
from collections.abc import Callable, Sequence

from attrs import frozen

from quillback.inspectors.shell_options import Parsed, Spec, parse
from quillback.inspectors.shell_script import Command, Word
from quillback.inspectors.shell_unwrap_steps import Code, Step, Unclear

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ksh93", "ash", "mksh", "rbash", "yash", "lksh"})
_SHELL = Spec(
    "abcefhiklmnpqrstuvxBCDEHPTO:o:",
    "login norc noprofile posix restricted noediting verbose debugger version help rcfile= init-file=",
)
STDIN = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})


@frozen
class Entry:
    """What an interpreter runs: `code` in a word, a `module`, a `file`, its `stdin`, or it is `unknown`."""

    kind: str
    word: Word | None = None


def shell_entry(command: Command) -> tuple[Entry, Parsed]:
    words = [w for w in command.args if not re.fullmatch(r"\+[a-zA-Z]+", w.text or "")]
    parsed = parse(words, _SHELL)
    if parsed.has("-c"):
        return Entry("code", parsed.rest[0] if parsed.rest else None), parsed
    script = parsed.rest[0] if parsed.rest and not parsed.has("-s") else None
    return Entry("stdin") if script is None or script.text in STDIN else Entry("file", script), parsed


def shell(command: Command) -> list[Step]:
    """sh, bash and the like: code after -c, a script file, or standard input."""
    entry, parsed = shell_entry(command)
    steps = unclear(command, parsed)
    if parsed.has("--rcfile", "--init-file"):
        steps.append(Unclear(f"{command.name} reads another start-up file"))
    if entry.kind == "code":
        return [*steps, Code(entry.word)] if entry.word is not None else steps
    return [*steps, *(script_file(command, entry.word) if entry.word is not None else from_stdin(command))]


def script_file(command: Command, script: Word) -> list[Step]:
    """Nothing to say of a plain file."""
    if script.inner:
        return [Unclear(f"{command.name} runs what {', '.join(script.inner)} writes")]
    if script.text is None and not script.wild and not script.home:
        return [Unclear(f"which script {command.name} runs is not known: {script.source[:60]}")]
    if (script.text or "").startswith(("/dev/", "/proc/")):
        return [Unclear(f"{command.name} runs {script.text}")]
    return []


def from_stdin(command: Command) -> list[Step]:
    """The code that a program without a script reads."""
    feeding = [r for r in command.redirects if r.feeds]
    if len(feeding) > 1 or any(r.operator not in ("<", "<<", "<<<") for r in feeding):
        return [Unclear(f"what {command.name} reads is not known")]
    if feeding:
        target = feeding[0].target
        return [Code(target)] if feeding[0].gives_text else script_file(command, target)
    if command.upstream:
        known: list[Step] = [Code(command.piped)] if command.piped is not None else []
        source = "something" if "?" in command.upstream else " | ".join(command.upstream)
        return [Unclear(f"{command.name} runs what {source} prints"), *known]
    return []


@frozen
class Language:
    """`code`: options followed by code, `valued`: by another word, `attached`: by the rest of their own word.

    `names` are longer options and subcommands that mean code.
    """

    code: str = ""
    valued: str = ""
    attached: str = ""
    names: tuple[str, ...] = ()


_NODE = Language("ep", "rC", names=("--eval", "--print"))
_POWERSHELL = Language("c", names=("-Command", "-EncodedCommand", "-command", "-enc", "-e", "-ec"))
_LANGUAGES: dict[str, Language] = {
    "python": Language("c", "WXmQ"),
    "pypy": Language("c", "WXm"),
    "perl": Language("eE", "I", "MmxCDFiV"),
    "ruby": Language("e", "IrEC", "KxTWFi"),
    "node": _NODE,
    "nodejs": _NODE,
    "bun": Language("ep", "r", names=("--eval", "--print")),
    "deno": Language(names=("eval", "repl")),
    "php": Language("rBRE", "cdfzSt", names=("--run", "--process-begin", "--process-code", "--process-end")),
    "lua": Language("e", "l"),
    "luajit": Language("e", "lj"),
    "Rscript": Language("e"),
    "R": Language("e", "f"),
    "julia": Language("eE", "LJpCHt", names=("--eval", "--print")),
    "osascript": Language("e", "l"),
    "tclsh": Language("c"),
    "expect": Language("c", "df"),
    "ghc": Language("e"),
    "groovy": Language("e"),
    "scala": Language("e"),
    "elixir": Language("e", "r", names=("--eval", "--rpc-eval")),
    "erl": Language(names=("-eval", "-run", "-s")),
    "octave": Language(names=("--eval",)),
    "pwsh": _POWERSHELL,
    "powershell": _POWERSHELL,
    "cmd": Language(names=("/c", "/C", "/k", "/K")),
    "fish": Language("cC", "dpo", names=("--command", "--init-command")),
    "csh": Language("c"),
    "tcsh": Language("c"),
    "nu": Language("c", names=("--commands",)),
    "xonsh": Language("c"),
}
_CODE_MODULES = frozenset({"timeit", "pdb", "code", "cProfile", "profile"})
_VERSION = re.compile(r"[\d.]+(?:-\w+)?$|\.exe$")
_READ_STDIN = frozenset({"python", "pypy", "perl", "ruby", "node", "nodejs", "php", "lua", "fish", "csh", "tcsh", "nu"})


def entry_of(command: Command) -> Entry | None:
    """What a shell or a language's interpreter runs; None for any other command."""
    name = command.name or ""
    if name in SHELLS:
        return shell_entry(command)[0]
    language = _LANGUAGES.get(_VERSION.sub("", name))
    return _language_entry(command, language) if language is not None else None


def interpreter(name: str) -> Callable[[Command], Sequence[Step]] | None:
    """The handler of a language's interpreter: its code is not looked into."""
    plain = _VERSION.sub("", name)
    return _interpreted if plain in _LANGUAGES else None


def _language_entry(command: Command, language: Language) -> Entry:
    words = command.args
    special = re.escape(language.code + language.valued + language.attached)
    letters = re.compile(rf"-[^-{special}]*([{special}]?)" if special else r"-[^-]*()")
    index = 0
    while index < len(words):
        word, shape = words[index], words[index].shape
        after = words[index + 1] if index + 1 < len(words) else None
        if word.text is None and word.may_be_option:
            return Entry("unknown", word)
        if shape.partition("=")[0] in language.names:
            return Entry("code", after)
        if shape == "-" or not shape.startswith("-"):
            return Entry("stdin") if word.text in STDIN else Entry("file", word)
        found = letters.match(shape)
        letter = found[1] if found and not shape.startswith("--") else ""
        ends = found is not None and found.end() == len(shape)
        if letter and letter in language.code:
            return Entry("code", after if ends else word)
        if letter == "m" and letter in language.valued:
            return Entry("module", after if ends else word)
        index += 2 if letter and letter in language.valued and ends else 1
    return Entry("stdin")


def _interpreted(command: Command) -> list[Step]:
    name = command.name or ""
    plain = _VERSION.sub("", name)
    entry = _language_entry(command, _LANGUAGES[plain])
    match entry:
        case Entry("code"):
            return [Unclear(f"{name} runs code that is not looked into")]
        case Entry("module", word):
            opaque = word is not None and word.shape.removeprefix("-m") in _CODE_MODULES
            return [Unclear(f"{name} runs code that is not looked into")] if opaque else []
        case Entry("file", Word() as word):
            return script_file(command, word)
        case Entry("stdin"):
            fed = command.upstream or any(r.feeds for r in command.redirects)
            return [Unclear(f"{name} runs the code that it reads")] if fed and plain in _READ_STDIN else []
        case _:
            return [Unclear(f"what {name} runs is not known")]


def unclear(command: Command, parsed: Parsed) -> list[Step]:
    """What options that are not known leave open."""
    return [Unclear(f"{command.name}: {parsed.unclear}")] if parsed.unclear else []
