"""Signs of danger to this machine: questions about one command, with yes or no."""

import re
from collections.abc import Callable

from quillback.inspectors import shell_operands
from quillback.inspectors.security_paths import fatal_change
from quillback.inspectors.security_scene import Scene, flags, verb
from quillback.inspectors.shell_git import harmless_setting, subcommand
from quillback.inspectors.shell_matcher import has, options
from quillback.inspectors.shell_script import Command, Word

Sign = Callable[[Scene, Command], bool]

DELETERS = frozenset({"rm", "shred", "unlink", "srm", "wipe", "rmdir"})


def name_in(*names: str) -> Sign:
    wanted = frozenset(names)
    return lambda scene, command: command.name in wanted


def with_verb(name: str, *verbs: str) -> Sign:
    wanted = frozenset(verbs)
    return lambda scene, command: command.name == name and verb(command) in wanted


def all_but_verbs(names: str, verbs: str) -> Sign:
    """Any of the programs, unless it is asked for nothing but these."""
    programs, harmless = frozenset(names.split()), frozenset(verbs.split())
    return lambda scene, command: command.name in programs and verb(command) not in harmless and bool(command.args)


# ---------------------------------------------------------------- destruction


def recursive(command: Command) -> bool:
    return command.name in ("srm", "wipe") or flags(command, "rR", "--recursive")


def removes_vital(scene: Scene, command: Command) -> bool:
    if command.name == "rm" and flags(command, "", "--no-preserve-root"):
        return True
    targets = shell_operands.operands_of(command.args)
    if command.name in DELETERS and recursive(command):
        return any(scene.vital(command, w) for w in targets)
    if command.name == "mv":
        return any(scene.vital(command, w) for w in targets[:-1])
    if command.name in ("chmod", "chown", "chgrp") and recursive(command):
        return any(scene.vital(command, w) for w in targets[1:])
    if command.name == "rsync" and any(w.startswith("--del") for w in command.texts):
        return any(scene.vital(command, w) for w in targets[-1:])
    return False


def removes_root(scene: Scene, command: Command) -> bool:
    """The whole workspace, or all that is in it."""
    if command.name not in DELETERS or not recursive(command):
        return False
    bare = [w for w in shell_operands.operands_of(command.args) if not w.wild or re.search(r"(?:^|/)\.?\*/?$", w.shape)]
    return any(path in scene.places.roots for w in bare for path in scene.paths(command, w))


def removes_found(scene: Scene, command: Command) -> bool:
    """find that deletes from a vital directory on."""
    if command.name != "find" or not any(scene.vital(command, w) for w in shell_operands.find_roots(command)):
        return False
    texts = command.texts
    if any(t.startswith(_NARROWING) for t in texts):
        return False
    deletes = any(t.rpartition("/")[2] in DELETERS for t in texts)
    return "-delete" in texts or (deletes and any(t in ("-exec", "-execdir", "-ok", "-okdir") for t in texts))


_NARROWING = (
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-regex",
    "-iregex",
    "-mtime",
    "-mmin",
    "-newer",
    "-empty",
)


def formats_device(scene: Scene, command: Command) -> bool:
    name = command.name or ""
    makes = name.startswith("mkfs") or name in _DISK_TOOLS
    return makes and any(w.shape.startswith("/dev/") and fatal_change(w.shape) for w in command.args)


_DISK_TOOLS = frozenset(
    {"mke2fs", "mkswap", "wipefs", "blkdiscard", "fdisk", "sfdisk", "gdisk", "sgdisk", "parted", "shred"}
)


def disk_tool(scene: Scene, command: Command) -> bool:
    name = command.name or ""
    more = ("lvremove", "vgremove", "pvremove", "zpool", "zfs", "cryptsetup", "hdparm", "nvme", "mdadm", "debugfs")
    return name.startswith("mkfs") or name in _DISK_TOOLS - {"shred"} or name in more


def fork_bomb(scene: Scene, command: Command) -> bool:
    """A function that starts itself beside itself."""
    calls_itself = command.name in command.functions
    return calls_itself and (command.background or command.name in command.upstream)


def kills_all(scene: Scene, command: Command) -> bool:
    texts = command.texts
    return command.name == "kill" and ("-1" in texts[1:] or (len(texts) > 1 and texts[-1] == "1"))


# ---------------------------------------------------------------- rights


def sets_id(scene: Scene, command: Command) -> bool:
    if command.name == "setcap":
        return True
    mode = next(iter(shell_operands.operands_of(command.args)), None)
    if command.name in ("chmod", "install") and mode is not None:
        modes = [mode, *shell_operands.option_values(command.args, ("-m", "--mode"))]
        return any(re.fullmatch(r"0?[2-7][0-7]{3}|.*[+=][rwxXt]*s.*", m.shape) for m in modes)
    return False


def breaks_out(scene: Scene, command: Command) -> bool:
    """A container with rights over the machine."""
    if command.name not in ("docker", "podman", "nerdctl"):
        return False
    texts = command.texts
    risky = r"--privileged|--cap-add[= ]?(?:ALL|SYS_\w+)|--(?:pid|ipc|uts|userns)=host|--security-opt|--device"
    mounted = shell_operands.option_values(command.args, ("-v", "--volume", "--mount"))
    return any(re.match(risky, t) for t in texts) or any(_mounts_vital(scene, command, w) for w in mounted)


def _mounts_vital(scene: Scene, command: Command, word: Word) -> bool:
    source = re.search(r"(?:source|src)=([^,]+)", word.shape)
    path = source[1] if source else word.shape.partition(":")[0]
    found = Word(None, path, path, home=word.home)
    return "docker.sock" in path or scene.vital(command, found) or scene.credential(command, found)


# ---------------------------------------------------------------- git


_ELSEWHERE = options(("--global", "--system", "--file", "-f"))


def sets_git_up(scene: Scene, command: Command) -> bool:
    """Configuration that can make git run something, or that is not this repository's."""
    _, name, words = subcommand(command)
    if command.name != "git" or name != "config":
        return False
    texts = [w.shape for w in words]
    reading = ("--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l", "list", "get", "--show-origin")
    if any(t in reading for t in texts):
        return False
    operands = [t for t in texts if not t.startswith("-") and t not in ("set", "unset")]
    changes = len(operands) > 1 or any(
        t.startswith(("--unset", "--add", "--replace", "--rename", "--remove")) for t in texts
    )
    elsewhere = has(words, _ELSEWHERE)
    harmless = bool(operands) and harmless_setting(operands[0], operands[1] if len(operands) > 1 else None)
    return changes and (elsewhere or not harmless)


def loses_history(scene: Scene, command: Command) -> bool:
    if command.name != "git":
        return False
    _, name, words = subcommand(command)
    texts = [w.shape for w in words]
    short = "".join(t[1:] for t in texts if t.startswith("-") and not t.startswith("--"))
    match name:
        case "push":
            forced = any(t.startswith(("--force", "--mirror", "--delete", "--prune")) for t in texts)
            return forced or "f" in short or "d" in short or any(t.startswith(("+", ":")) for t in texts)
        case "clean":
            return "f" in short or any(t.startswith("--f") for t in texts)
        case "filter-branch" | "filter-repo" | "update-ref":
            return True
        case "reflog":
            return texts[:1] in (["expire"], ["delete"])
        case "stash":
            return texts[:1] in (["clear"], ["drop"])
        case "gc":
            return any(t.startswith("--prune=") for t in texts)
    return False
