"""Which words of a command are files: those it changes, those it reads, and the directory it works in."""

import re
from collections.abc import Callable, Sequence
from itertools import zip_longest

from quillback.inspectors.shell_git import subcommand
from quillback.inspectors.shell_interpreters import module_of
from quillback.inspectors.shell_matcher import has, options, part, values
from quillback.inspectors.shell_option_tables import IN_PLACE, MAKING, WRITING, grammar_of, of_program, spread
from quillback.inspectors.shell_options import Spec, parse
from quillback.inspectors.shell_script import Command, Word, literal

# fmt: off
_ALL = frozenset({
    "rm", "rmdir", "unlink", "shred", "srm", "mv", "touch", "mkdir", "mkfifo", "mknod", "tee", "truncate", "ln", "link",
    "sponge", "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "rename", "fallocate", "setfattr", "chattr",
    "trash", "patch", "wipe", "dos2unix", "unix2dos", "lzma", "unlzma", "lz4", "brotli", "strip", "ranlib",
    "black", "isort", "rustfmt", "venv", "virtualenv", "compileall",
})
_AFTER_FIRST = frozenset({"chmod", "chown", "chgrp", "setfacl", "chcon", "setcap"})
_LAST = frozenset({
    "cp", "install", "rsync", "scp", "gcp", "ginstall", "ditto", "ffmpeg", "convert", "magick", "objcopy",
})
_FIRST_TWO = frozenset({"ar"})
_AWKS = frozenset({"awk", "gawk"})
_NO_READERS = frozenset({
    "", "echo", "printf", ":", "true", "false", "test", "[", "ls", "stat", "touch", "mkdir", "rmdir", "cd", "pushd",
    "which", "type", "chmod", "chown", "rm", "basename", "dirname", "realpath", "readlink", "export", "unset",
    "declare", "local", "readonly", "typeset", "alias", "exit", "return", "set", "shift", "sleep", "kill", "man",
    "date",
    "apt", "apt-get", "brew", "dnf", "yum", "npm", "pnpm", "yarn", "pip", "pip3", "cargo", "du", "df", "find", "tree",
})
_PATTERN_FIRST = frozenset({
    "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "sed", "gsed", "awk", "gawk", "mawk", "nawk", "jq", "yq",
})
_GIT_QUIET = frozenset({"add", "rm", "check-ignore", "commit", "update-index", "log", "status", "mv", "restore", "tag"})
# fmt: on
_SENDING_OPTIONS = (
    *("-d", "--data", "--data-binary", "--data-raw", "--data-ascii", "--data-urlencode", "--json", "-F", "--form"),
    *("-T", "--upload-file", "--post-file", "--body-file"),
)
SED = Spec(
    "nEre:f:i::l:suzb",
    "quiet silent debug expression= file= follow-symlinks in-place line-length= null-data posix regexp-extended "
    "separate sandbox unbuffered zero-terminated binary version help",
    permutes=True,
)
_SPLIT = Spec(
    "a:b:C:dexl:n:t:uz",
    "suffix-length= additional-suffix= bytes= line-bytes= numeric-suffixes hex-suffixes elide-empty-files filter= "
    "lines= number= separator= unbuffered verbose version help",
    permutes=True,
)
_TAR_CHANGES = options(
    ("-c", "-r", "-u", "-A", "--create", "--append", "--update", "--catenate", "--concatenate", "--delete"),
    grammar_of("tar"),
)
_TAR_FILE = options(("-f", "--file"), grammar_of("tar"))
_TAR_REMOVES = options(("--remove-files",), grammar_of("tar"))
_CPIO_PASS = options(("-p", "--pass-through"), grammar_of("cpio"))
_INTO = options(("-t", "--target-directory"), grammar_of("cp"))
_UNIQ_VALUES = options(("-f", "-s", "-w", "--skip-fields", "--skip-chars", "--check-chars"))
_GIT_VALUES = options(
    (
        *("-b", "-B", "--branch", "--initial-branch", "--origin", "-o", "-j", "--jobs", "--depth", "--reference"),
        *("--reference-if-able", "--filter", "--shallow-since", "--shallow-exclude", "--object-format", "--reason"),
    )
)
_OUTPUT_NAME = re.compile(
    r"--(?:[\w-]+[-_])?(?:out|output|out-?file|out-?dir|output-?file|output-?dir|dest|destination|log-?file|log-?dir|"
    r"report-?file|report-?dir|junit-?xml|save|save-to|dump-?file|write-to|target-dir|cache-dir)"
)
_REMOTE = re.compile(r"(?:[\w.@-]+@)?[\w.-]+:|\[[0-9a-fA-F:]+\]:|[a-z]+://")
_BEFORE_FILE = re.compile(r"(?:--?[\w-]+=|[\w-]+=)?(?:@<?|<)?(?:file://)?")


def acting(command: Command) -> tuple[str, tuple[Word, ...]]:
    """The program and its arguments; a module that Python runs counts as the program."""
    name = command.name or ""
    if name.startswith(("python", "pypy")):
        return module_of(command) or (name, command.args)
    return name, spread(name, command.args)


def written(command: Command) -> list[Word]:
    """The paths that a command makes, changes or removes, as far as its words tell; redirections are not among them."""
    name, words = acting(command)
    operands = operands_of(words)
    found = [*_by_option(command, name, words), *values(words, of_program(MAKING, name))]
    if name in _ALL:
        found += operands
    elif name in _AFTER_FIRST:
        found += operands[1:]
    elif name in _LAST:
        found += _destination(name, words, operands)
    elif name in _FIRST_TWO:
        found += operands[:2]
    elif name == "dd":
        found += [part(w, 3) for w in words if w.shape.startswith("of=")]
    elif name == "git":
        found += _by_git(command)
    elif name in _BY_PURPOSE:
        found += _BY_PURPOSE[name](words, operands)
    return found


def supposed(command: Command) -> list[Word]:
    """The values of options of any program whose names say that they are files to be written."""
    found: list[Word] = []
    for word, after in zip_longest(command.args, command.args[1:]):
        if not word.shape.startswith("--"):
            continue
        name, equals, _ = word.shape.partition("=")
        if _OUTPUT_NAME.fullmatch(name):
            found += [part(word, len(name) + 1)] if equals else [after] if after is not None else []
    return found


def side_writes(command: Command) -> list[Word]:
    """The paths that a command writes because an option says so, though its purpose is another."""
    name, words = acting(command)
    if name == "git":
        _, verb, rest = subcommand(command)
        return values(rest, of_program(WRITING, f"git {verb}"))
    return _by_option(command, name, words)


def _by_option(command: Command, name: str, words: Sequence[Word]) -> list[Word]:
    if name == "git":
        return side_writes(command)
    found = values(words, of_program(WRITING, name))
    in_place = IN_PLACE.get("sed" if name == "gsed" else name)
    if in_place and has(words, in_place):
        found += sed_operands(command) if name in ("sed", "gsed") else operands_of(words)[1:]
    if name in _AWKS and any(v.shape == "inplace" for v in option_values(words, ("-i", "--include"))):
        found += operands_of(words)
    if name == "find" and any(w.text == "-delete" for w in words):
        found += find_roots(command)
    if name in ("uniq", "xxd"):
        taken = values(words, _UNIQ_VALUES) if name == "uniq" else []
        found += [w for w in operands_of(words) if all(w is not value for value in taken)][1:]
    return found


def sed_operands(command: Command) -> tuple[Word, ...]:
    """The files of sed."""
    parsed = parse(command.args, SED)
    return parsed.rest if parsed.has("-e", "-f", "--expression", "--file") else parsed.rest[1:]


def read(command: Command) -> list[Word]:
    """The words that may be files whose content a command takes in."""
    name = command.name or ""
    redirected = [r.target for r in command.redirects if r.operator in ("<", "<>")]
    if name in _NO_READERS:
        return redirected
    words = [w for w in command.args if w.text is None or not re.search(r"\s", w.text)]
    if name in _PATTERN_FIRST and not option_values(command.args, ("-e", "-f", "--regexp", "--file")):
        pattern = next(iter(operands_of(command.args)), None)
        words = [w for w in words if w is not pattern]
    if name in ("cp", "install", "ln"):
        words = words[:-1]
    if name == "git":
        quiet = subcommand(command)[1] in _GIT_QUIET
        words = [] if quiet else [part(w, w.shape.find(":") + 1) for w in words]
    return redirected + [_file_in(w) for w in words]


def sent(command: Command) -> list[Word]:
    """The files that a program of the network sends away."""
    match command.name:
        case "curl" | "curlie" | "wget":
            return [_file_in(w) for w in option_values(command.args, _SENDING_OPTIONS, "curl") if w.shape[:1] != "-"]
        case "scp" | "rsync" | "sftp":
            keys = option_values(command.args, ("-i", "-F", "-S", "-o", "-e"))
            return [w for w in operands_of(command.args) if not is_remote(w) and w not in keys]
        case "ssh" | "git":
            return []
    return read(command)


def places(command: Command) -> list[Word]:
    """The directories that an option makes a command work in."""
    if command.name == "git":
        parsed, _, _ = subcommand(command)
        return parsed.values("-C", "--git-dir", "--work-tree")
    return []


def operands_of(words: Sequence[Word]) -> list[Word]:
    """The words that are no options; values of options are among them."""
    found: list[Word] = []
    for index, word in enumerate(words):
        if word.text == "--":
            return [*found, *words[index + 1 :]]
        if not word.shape.startswith("-") or word.text == "-":
            found.append(word)
    return found


def option_values(words: Sequence[Word], names: Sequence[str], program: str = "") -> list[Word]:
    """What stands after any of `names`: `--name value`, `--na=value`, `-n value`, `-nvalue`, `-xyn value`."""
    return values(words, options(tuple(names), grammar_of(program)))


def find_roots(command: Command) -> list[Word]:
    """Where find begins; the working directory when nothing is named."""
    roots: list[Word] = []
    for word in command.args:
        if word.shape in ("-H", "-L", "-P") or word.shape.startswith(("-D", "-O")):
            continue
        if word.shape.startswith(("-", "(", "!")):
            break
        roots.append(word)
    return roots or [literal(".")]


def is_remote(word: Word) -> bool:
    """Whether a word names a file on another machine."""
    return _REMOTE.match(word.shape) is not None


def _destination(name: str, words: Sequence[Word], operands: list[Word]) -> list[Word]:
    target = values(words, _INTO) if name != "rsync" else []
    if not target and name in ("install", "ginstall") and any(w.text == "-d" for w in words):
        target = operands
    found = target or (operands[-1:] if len(operands) > 1 else [])
    return [w for w in found if not is_remote(w)]


def _by_tar(words: Sequence[Word], operands: list[Word]) -> list[Word]:
    removed = operands if has(words, _TAR_REMOVES) else []
    archives = values(words, _TAR_FILE) if has(words, _TAR_CHANGES) else []
    return [*removed, *(w for w in archives if w.text != "-")]


def _by_module(words: Sequence[Word], operands: list[Word]) -> list[Word]:
    """`python -m zipfile`, `python -m tarfile`: what is made, or where to."""
    extracts = any(w.shape.startswith(("-e", "--ex")) for w in words)
    return [*option_values(words, ("-c", "--create")), *(operands[1:] if extracts else [])]


def _by_7z(words: Sequence[Word], operands: list[Word]) -> list[Word]:
    return operands[1:2] if operands and operands[0].shape in ("a", "d", "u", "rn") else []


def _by_split(words: Sequence[Word], operands: list[Word]) -> list[Word]:
    return list(parse(words, _SPLIT).rest[1:2])


def _by_cpio(words: Sequence[Word], operands: list[Word]) -> list[Word]:
    return operands[-1:] if has(words, _CPIO_PASS) else []


def _by_docker(words: Sequence[Word], operands: list[Word]) -> list[Word]:
    copies = bool(operands) and operands[0].shape == "cp"
    return [w for w in operands[-1:] if copies and not is_remote(w)]


_BY_PURPOSE: dict[str, Callable[[Sequence[Word], list[Word]], list[Word]]] = {
    **dict.fromkeys(("tar", "bsdtar", "gtar"), _by_tar),
    **dict.fromkeys(("zipfile", "tarfile"), _by_module),
    **dict.fromkeys(("7z", "7za", "7zz"), _by_7z),
    **dict.fromkeys(("docker", "podman"), _by_docker),
    "zip": lambda words, operands: operands[:1],
    "sqlite3": lambda words, operands: [w for w in operands if not re.search(r"\s", w.shape)],
    "split": _by_split,
    "cpio": _by_cpio,
}


def _by_git(command: Command) -> list[Word]:
    _, verb, words = subcommand(command)
    taken = values(words, _GIT_VALUES)
    operands = [w for w in operands_of(words) if all(w is not value for value in taken)]
    match verb:
        case "clone":
            return operands[1:2]
        case "init":
            return operands[:1]
        case "worktree":
            return operands[1:]
        case "bundle" if operands and operands[0].shape == "create":
            return [w for w in operands[1:2] if w.text != "-"]
        case "pack-objects":
            return operands[-1:]
    return []


def _file_in(word: Word) -> Word:
    """The file in words such as `--file=x`, `@x`, `name=@x`, `file://x`."""
    found = _BEFORE_FILE.match(word.shape)
    return part(word, found.end()) if found and found.end() else word
