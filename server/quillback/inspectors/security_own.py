"""What a command does with Quillback itself: its program, its database and its settings are no tools of the agent."""

import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path, PurePath

from quillback.inspectors import shell_operands
from quillback.inspectors.security_paths import Places
from quillback.inspectors.security_scene import Scene
from quillback.inspectors.shell_script import UNKNOWN, Command, Word

_LOOKS = frozenset({("doctor",), ("models",), ("audit",), ("help",), ("sessions", "list"), ("sessions", "show")})
_MORE_LOOKS = frozenset({("rules", "list"), ("--version",)})
_RUNS_PACKAGES = frozenset({"uvx", "pipx", "pkgx", "uv"})
_OUR_PLACES = re.compile(r"\$\{?[!#]?QUILLBACK_(?:HOME|CONFIG)")
_SPLIT = re.compile(r"[=:@,]")
_TEXT_LIMIT = 4096


def runs_quillback(scene: Scene, command: Command) -> bool:
    """Quillback as a program that may change what the agent is allowed, or that runs another agent."""
    words = _own_words(scene, command)
    if words is None or command.remote:
        return False
    verbs = tuple(w.shape for w in words[:2])
    if verbs[:1] in _LOOKS or verbs in _LOOKS or verbs[:1] in _MORE_LOOKS or verbs in _MORE_LOOKS:
        return False
    if verbs[:1] == ("trust",) and [w.text for w in words[1:]] == ["--list"]:
        return False
    return not (words and words[-1].text in ("--help", "-h") and all(w.text and w.text[0] != "-" for w in words[:-1]))


def _own_words(scene: Scene, command: Command) -> tuple[Word, ...] | None:
    """The arguments of Quillback if it is what the command runs."""
    if not any("quillback" in word.shape for word in command.words):
        return None
    name, words = shell_operands.acting(command)
    if name == "quillback" or name.startswith("quillback."):
        return words
    if name in _RUNS_PACKAGES:
        found = next((i for i, w in enumerate(words) if w.shape.partition("@")[0] == "quillback"), None)
        return None if found is None else words[found + 1 :]
    entry = scene.entry(command)
    if entry is None or entry.kind != "file" or entry.word is None:
        return None
    parts = PurePath(entry.word.shape).parts
    if parts[-1:] == ("quillback",) or parts[-2:] == ("quillback", "__main__.py"):
        after = next((i for i, w in enumerate(words) if w is entry.word), len(words))
        return words[after + 1 :]
    return None


def touches_own(scene: Scene, command: Command) -> bool:
    """Whether any word of a command leads into what belongs to Quillback, whatever the program makes of it."""
    places = scene.places
    if not places.protected:
        return False
    folders = scene.settings[id(command)].folders
    if command.words and any(f != scene.cwd and places.own(f) for f in folders):
        return True
    return any(_is_own(word, places, folders) for word in _words(command))


def _words(command: Command) -> Iterator[Word]:
    yield from command.words if command.words and "/" in command.words[0].shape else command.args
    yield from (a.value for a in command.assignments if a.value is not None)
    for redirect in command.redirects:
        if not redirect.gives_text or command.name not in ("cat", "tee"):
            yield redirect.target


def _is_own(word: Word, places: Places, folders: tuple[str, ...]) -> bool:
    shape = word.shape
    if UNKNOWN in shape:
        return _OUR_PLACES.search(word.source) is not None or _tail_fits(shape, places)
    if "/" not in shape and not word.home:
        return not word.wild and _link_leads_in(shape, places, folders)
    if len(shape) > _TEXT_LIMIT or any(c.isspace() for c in shape):
        return _spelled(places).search(shape) is not None
    whole = places.home + shape[1:] if word.home else shape
    pieces = [whole]
    if _SPLIT.search(whole):
        pieces += [p for p in _SPLIT.split(whole) if "/" in p]
    pieces += [shape[2:]] if shape[0] == "-" else []
    return any(_leads_in(piece, word.wild, places, folders) for piece in pieces)


def _leads_in(piece: str, wild: bool, places: Places, folders: tuple[str, ...]) -> bool:
    if piece.startswith("~/"):
        piece = places.home + piece[1:]
    for folder in folders:
        path = piece if piece.startswith("/") else f"{folder}/{piece}"
        if wild and any(c in path for c in "*?["):
            if any(_glob_fits(os.path.normpath(path), place) for place in places.protected):
                return True
        elif places.own(os.path.realpath(path)):
            return True
    return False


def _glob_fits(pattern: str, place: str) -> bool:
    wanted, parts = PurePath(pattern).parts, PurePath(place).parts
    return len(wanted) >= len(parts) and all(
        fnmatchcase(part, glob.replace("[^", "[!")) for part, glob in zip(parts, wanted, strict=False)
    )


def _link_leads_in(name: str, places: Places, folders: tuple[str, ...]) -> bool:
    """A plain name that is a link, or one of our own places."""
    if not name or name[0] == "-" or len(name) > 255:
        return False
    for folder in folders:
        path = f"{folder}/{name}"
        if os.path.lexists(path) and Path(path).is_symlink() and places.own(os.path.realpath(path)):
            return True
        if path in places.protected:
            return True
    return False


def _tail_fits(shape: str, places: Places) -> bool:
    """Whether what follows the unknown part of a word is there in one of our own places."""
    tail = [part for part in shape.rpartition(UNKNOWN)[2].split("/") if part]
    if not tail or "/" not in shape:
        return False
    for place in places.protected:
        parts = PurePath(place).parts
        for count in range(min(len(tail), len(parts)) + 1):
            if list(parts[len(parts) - count :]) == tail[:count] and _there(place, tail[count:], count):
                return True
    return False


def _there(place: str, below: list[str], shared: int) -> bool:
    return bool(shared or below) and (not below or os.path.lexists("/".join([place, *below])))


def _spelled(places: Places) -> re.Pattern[str]:
    return _expression(places.protected, places.home)


@lru_cache(maxsize=16)
def _expression(protected: tuple[str, ...], home: str) -> re.Pattern[str]:
    """Our own places as they stand in a text."""
    texts = {re.escape(place) for place in protected}
    texts |= {re.escape("~" + place.removeprefix(home)) for place in protected if place.startswith(home + "/")}
    return re.compile(rf"(?:{'|'.join(sorted(texts))})(?![\w.-])")
