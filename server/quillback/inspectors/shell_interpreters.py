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

    `names` are longer options and subcommands that mean code. `loads` are options that load or set something; `plain`
    fits all that is harmless after them, or after those of `attached` where there are none.
    """

    code: str = ""
    valued: str = ""
    attached: str = ""
    names: tuple[str, ...] = ()
    loads: tuple[str, ...] = ()
    plain: re.Pattern[str] = re.compile(r"[\s\S]*")


_PACKAGE = re.compile(r"(?:@[\w.-]+/)?\w[\w.-]*(?:/[\w.-]+)*")
_NODE = Language(
    "ep",
    "rC",
    names=("--eval", "--print"),
    loads=("-r", "--require", "--import", "--loader", "--experimental-loader", "--test-reporter", "--openssl-config"),
    plain=_PACKAGE,
)
_POWERSHELL = Language(names=("-c", "-command", "-encodedcommand", "-ec", "-commandwithargs", "-cwa"))
_MODULE = re.compile(r"\w[\w./-]*")
_PERL_PLAIN = re.compile(r"[-\w:.,=!^]*|\\\w|\\?[^\w\s(){}\[\]\"'`;$@&<]{1,2}|/[^/(){}$@;]*/")
_PHP_PLAIN = re.compile(
    r"(?:memory_limit|display_errors|display_startup_errors|error_reporting|max_execution_time|date\.timezone|zend\."
    r"assertions|assert\.exception|short_open_tag|xdebug\.mode|pcov\.enabled|opcache\.[\w.]+|log_errors|html_errors|"
    r"phar\.readonly|precision|default_charset|output_buffering)(?:=[\w ./~|&^-]*)?"
)
_LANGUAGES: dict[str, Language] = {
    "python": Language("c", "WXmQ"),
    "pypy": Language("c", "WXm"),
    "perl": Language("eE", "I", "MmxCDFiVd", plain=_PERL_PLAIN),
    "ruby": Language("e", "IrEC", "KxTWFi", loads=("-r", "--require"), plain=_MODULE),
    "node": _NODE,
    "nodejs": _NODE,
    "bun": Language(
        "ep", "r", names=("--eval", "--print", "exec"), loads=("-r", "--preload", "--require"), plain=_PACKAGE
    ),
    "deno": Language(names=("eval", "repl"), loads=("--preload", "--import"), plain=_PACKAGE),
    "php": Language(
        "rBRE",
        "cdfzSt",
        names=(
            "--run",
            "--process-begin",
            "--process-code",
            "--process-end",
            "--php-ini",
            "--zend-extension",
            "-c",
            "-z",
        ),
        loads=("-d", "--define"),
        plain=_PHP_PLAIN,
    ),
    "lua": Language("e", "l", loads=("-l",), plain=_MODULE),
    "luajit": Language("e", "lj", loads=("-l",), plain=_MODULE),
    "Rscript": Language("e"),
    "R": Language("e", "f", names=("-d", "--debugger", "--interpreter")),
    "julia": Language("eE", "LJpCHt", names=("--eval", "--print")),
    "osascript": Language("e", "l"),
    "tclsh": Language("c"),
    "expect": Language("c", "df"),
    "ghc": Language("e"),
    "groovy": Language("e"),
    "scala": Language("e"),
    "kotlin": Language("e"),
    "clojure": Language("e", names=("--eval",)),
    "clj": Language("e", names=("--eval",)),
    "sbcl": Language(names=("--eval", "--load")),
    "guile": Language("c", "l"),
    "racket": Language("e"),
    "raku": Language("e"),
    "swift": Language("e"),
    "crystal": Language(names=("eval",)),
    "ocaml": Language("e"),
    "ipython": Language("c"),
    "gnuplot": Language("e"),
    "mongosh": Language(names=("--eval",)),
    "qjs": Language("e"),
    "elixir": Language("e", "r", names=("--eval", "--rpc-eval", "--erl")),
    "iex": Language("e", "r", names=("--eval", "--rpc-eval", "--erl")),
    "erl": Language(names=("-eval", "-run", "-s")),
    "octave": Language(names=("--eval",)),
    "pwsh": _POWERSHELL,
    "powershell": _POWERSHELL,
    "cmd": Language(),
    "fish": Language("cC", "dpo", names=("--command", "--init-command")),
    "csh": Language("c"),
    "tcsh": Language("c"),
    "nu": Language("ce", names=("--commands", "--execute")),
    "xonsh": Language("c"),
}
_CODE_MODULES = frozenset({
    "timeit", "pdb", "code", "cProfile", "profile", "asyncio", "idlelib", "trace", "bdb", "runpy", "IPython",
    "ptpython", "bpython", "xonsh", "concurrent", "test",
})  # fmt: skip
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


def module_of(command: Command) -> tuple[str, tuple[Word, ...]] | None:
    """The module that Python runs, and what follows it."""
    for index, word in enumerate(command.args):
        found = re.fullmatch(r"-[a-zA-Z]*?m(.*)", word.shape)
        if found and "c" not in word.shape[: found.start(1)]:
            after = command.args[index + (1 if found[1] else 2) :]
            name = found[1] or next((w.shape for w in command.args[index + 1 : index + 2]), "")
            return name, after
        if not word.shape.startswith("-") and not (index and command.args[index - 1].shape[:2] in ("-W", "-X", "--")):
            return None
    return None


def _language_entry(command: Command, language: Language) -> Entry:
    words = command.args
    if any(w.shape[:5].lower() == "data:" for w in words):
        return Entry("code", words[0])
    special = re.escape(language.code + language.valued + language.attached)
    letters = re.compile(rf"-[^-{special}]*([{special}]?)" if special else r"-[^-]*()")
    index, maybe = 0, None
    while index < len(words):
        word, shape = words[index], words[index].shape
        after = words[index + 1] if index + 1 < len(words) else None
        if word.text is None and word.may_be_option:
            return Entry("unknown", word)
        if _means_code(word, after, command, language):
            return Entry("code", after)
        if shape == "-" or not shape.startswith("-"):
            if index and _may_take_value(words[index - 1].shape) and maybe is None:
                maybe = word
                index += 1
                continue
            return Entry("stdin") if word.text in STDIN else Entry("file", word if maybe is None else maybe)
        found = letters.match(shape)
        letter = found[1] if found and not shape.startswith("--") else ""
        ends = found is not None and found.end() == len(shape)
        if letter and letter in language.code:
            return Entry("code", after if ends else word)
        if letter == "m" and letter in language.valued:
            return Entry("module", after if ends else word)
        if letter and letter in language.attached and found and not _plain_value(shape[found.end() :], language):
            return Entry("code", word)
        index += 2 if letter and letter in language.valued and ends else 1
    return Entry("stdin") if maybe is None or maybe.text in STDIN else Entry("file", maybe)


def _plain_value(value: str, language: Language) -> bool:
    return bool(language.loads) or language.plain.fullmatch(value) is not None


def _may_take_value(shape: str) -> bool:
    """A long option whose value may be the next word."""
    return shape.startswith("--") and "=" not in shape and len(shape) > 2


def _means_code(word: Word, after: Word | None, command: Command, language: Language) -> bool:
    """Whether an option, or an address in place of a file, is code or loads what may be code."""
    shape, name = word.shape, command.name or ""
    option, equals, value = shape.partition("=")
    if option.startswith("--"):
        option = option.replace("_", "-")
    if name.lower().startswith(("pwsh", "powershell")):
        plain = "-" + option.lower().lstrip("-/")
        return shape[:1] in "-/" and len(plain) > 1 and any(n.startswith(plain) for n in language.names)
    if name.lower().startswith("cmd"):
        return re.search(r"/[ckr]", shape.lower()) is not None
    if option in language.names or (shape[:2] in language.names and shape[:2] != "-s"):
        return True
    if not language.loads:
        return False
    given = None
    if option in language.loads:
        given = value if equals else after.shape if after is not None else None
    elif shape[:2] in language.loads and not shape.startswith("--"):
        given = shape[2:].removeprefix("=")
    return given is not None and language.plain.fullmatch(given) is None


def _interpreted(command: Command) -> list[Step]:
    name = command.name or ""
    plain = _VERSION.sub("", name)
    entry = _language_entry(command, _LANGUAGES[plain])
    match entry:
        case Entry("code"):
            return [Unclear(f"{name} runs code that is not looked into")]
        case Entry("module", word):
            module = "" if word is None else re.sub(r"^-\w*m", "", word.shape)
            opaque = module.partition(".")[0] in _CODE_MODULES
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
