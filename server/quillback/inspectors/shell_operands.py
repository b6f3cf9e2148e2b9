"""Which words of a command are files: those it changes, those it reads, and the directory it works in."""

import re
from collections.abc import Sequence

from quillback.inspectors.shell_git import subcommand
from quillback.inspectors.shell_script import Command, Word, literal

# fmt: off
_ALL = frozenset({
    "rm", "rmdir", "unlink", "shred", "srm", "mv", "touch", "mkdir", "mkfifo", "mknod", "tee", "truncate", "ln", "link",
    "sponge", "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "rename", "fallocate", "setfattr", "chattr",
    "trash", "patch", "wipe", "dos2unix", "unix2dos",
})
_AFTER_FIRST = frozenset({"chmod", "chown", "chgrp", "setfacl", "chcon", "setcap"})
_LAST = frozenset({"cp", "install", "rsync", "scp", "gcp", "ginstall", "ditto"})
_WRITING_OPTIONS: dict[str, tuple[str, ...]] = {
    "sort": ("-o", "--output"),
    "tree": ("-o",),
    "curl": ("-o", "--output", "-D", "--dump-header", "-c", "--cookie-jar", "--output-dir", "--trace", "--stderr"),
    "wget": ("-O", "--output-document", "-o", "--output-file", "-P", "--directory-prefix", "-a", "--append-output"),
    "tar": ("-C", "--directory"),
    "bsdtar": ("-C", "--directory"),
    "unzip": ("-d",),
    "gcc": ("-o",),
    "g++": ("-o",),
    "cc": ("-o",),
    "clang": ("-o",),
    "ld": ("-o",),
    "go": ("-o",),
    "openssl": ("-out", "-keyout"),
    "gpg": ("-o", "--output"),
    "ssh-keygen": ("-f",),
    "find": ("-fprint", "-fprint0", "-fprintf", "-fls"),
    "git": ("--output", "--output-directory"),
    "pip": ("-t", "--target", "--prefix", "--root"),
    "pip3": ("-t", "--target", "--prefix", "--root"),
    "npm": ("--prefix", "-C"),
    "pnpm": ("-C", "--dir"),
    "yarn": ("--cwd",),
    "iconv": ("-o", "--output"),
    "shuf": ("-o", "--output"),
    "csplit": ("-f", "--prefix"),
    "script": ("-O", "-B"),
    "strace": ("-o", "--output"),
    "cmake": ("-B", "--install-prefix"),
    "make": ("-C", "--directory"),
    "gmake": ("-C", "--directory"),
    "ninja": ("-C",),
    "cargo": ("--target-dir", "--root"),
    "cpio": ("-D", "-O"),
    "diff": ("--output",),
    "pandoc": ("-o", "--output"),
}
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
_IN_PLACE = {
    "sed": re.compile(r"-[nErsuz]*i|--in-place"),
    "gsed": re.compile(r"-[nErsuz]*i|--in-place"),
    "perl": re.compile(r"-[a-hj-zA-DG-HJ-LN-Z0-9]*i"),
    "ruby": re.compile(r"-[a-z]*i"),
    "yq": re.compile(r"-[a-zA-Z]*i|--inplace"),
}
_SCRIPT_OPTION = re.compile(r"-[nErsuzp0-9]*[efE]|--expression|--file")
_REMOTE = re.compile(r"(?:[\w.@-]+@)?[\w.-]+:|\[[0-9a-fA-F:]+\]:|[a-z]+://")
_BEFORE_FILE = re.compile(r"(?:--?[\w-]+=|[\w-]+=)?(?:@<?|<)?(?:file://)?")


def written(command: Command) -> list[Word]:
    """The paths that a command makes, changes or removes, as far as its words tell; redirections are not among them."""
    name = command.name or ""
    operands = operands_of(command.args)
    found = side_writes(command)
    if name in _ALL:
        found += operands
    elif name in _AFTER_FIRST:
        found += operands[1:]
    elif name in _LAST:
        found += _destination(command, operands)
    elif name == "dd":
        found += [part(w, 3) for w in command.args if w.shape.startswith("of=")]
    elif name == "git":
        found += _by_git(command)
    return found


def side_writes(command: Command) -> list[Word]:
    """The paths that a command writes because an option says so, though its purpose is another."""
    name = command.name or ""
    found = option_values(command.args, _WRITING_OPTIONS.get(name, ()))
    in_place = _IN_PLACE.get(name)
    if in_place and any(in_place.match(w.shape) for w in command.args):
        has_script = any(_SCRIPT_OPTION.match(w.shape) for w in command.args)
        operands = operands_of(command.args)
        found += [w for w in operands if w is not _script_word(command)] if has_script else operands[1:]
    if name == "find" and any(w.text == "-delete" for w in command.args):
        found += find_roots(command)
    if name in ("uniq", "xxd"):
        found += operands_of(command.args)[1:]
    return found


def read(command: Command) -> list[Word]:
    """The words that may be files whose content a command takes in."""
    name = command.name or ""
    redirected = [r.target for r in command.redirects if r.operator == "<"]
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
            return [_file_in(w) for w in option_values(command.args, _SENDING_OPTIONS) if w.shape[:1] != "-"]
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


def option_values(words: Sequence[Word], names: Sequence[str]) -> list[Word]:
    """What stands after any of `names`: `--name value`, `--na=value`, `-n value`, `-nvalue`, `-xyn value`."""
    found: list[Word] = []
    letters = "".join(name[1] for name in names if len(name) == 2)
    cluster = re.compile(rf"-[a-zA-Z0-9]*?[{re.escape(letters)}]") if letters else None
    for index, word in enumerate(words):
        if word.text == "--":
            break
        name, equals, _ = word.shape.partition("=")
        after = list(words[index + 1 : index + 2])
        short = cluster.match(word.shape) if cluster else None
        if name in names or (len(name) > 3 and any(n.startswith(name) for n in names if n.startswith("--"))):
            found += [part(word, len(name) + 1)] if equals and len(name) > 2 else after
        elif short:
            found += [part(word, short.end())] if short.end() < len(word.shape) else after
    return found


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


def part(word: Word, start: int) -> Word:
    """A word's text from `start` on."""
    shape = word.shape[start:]
    known = word.text is not None
    home = known and shape.startswith("~/") and start > 0
    return Word(shape if known and not home else None, shape, word.source, wild=word.wild, home=home or word.home)


def _script_word(command: Command) -> Word | None:
    """The word after -e or -f."""
    for word, after in zip(command.args, command.args[1:], strict=False):
        if _SCRIPT_OPTION.fullmatch(word.shape):
            return after
    return None


def _destination(command: Command, operands: list[Word]) -> list[Word]:
    target = option_values(command.args, ("-t", "--target-directory")) if command.name != "rsync" else []
    if not target and command.name in ("install", "ginstall") and any(w.text == "-d" for w in command.args):
        target = operands
    found = target or (operands[-1:] if len(operands) > 1 else [])
    return [w for w in found if not is_remote(w)]


def _by_git(command: Command) -> list[Word]:
    _, verb, words = subcommand(command)
    operands = operands_of(words)
    match verb:
        case "clone":
            return operands[1:2]
        case "init":
            return operands[:1]
        case "worktree":
            return operands[1:2]
        case "archive" | "format-patch" | "bundle":
            return option_values(words, ("-o", "--output", "--output-directory"))
    return []


def _file_in(word: Word) -> Word:
    """The file in words such as `--file=x`, `@x`, `name=@x`, `file://x`."""
    found = _BEFORE_FILE.match(word.shape)
    return part(word, found.end()) if found and found.end() else word
