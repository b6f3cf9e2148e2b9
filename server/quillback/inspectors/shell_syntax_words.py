"""Makes words of syntax nodes: takes quotes off as bash would, and keeps apart what only an expansion will tell."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from attrs import field, frozen

from quillback.inspectors.shell_script import UNKNOWN, Word
from quillback.inspectors.shell_text import (
    Atom,
    Atoms,
    UnclearBracesError,
    ansi_c,
    expand_braces,
    in_double_quotes,
    is_live,
    unquoted,
)

if TYPE_CHECKING:
    from tree_sitter import Node

# fmt: off
LITERAL_NODES = frozenset({
    "word", "number", "variable_name", "special_variable_name", "test_operator", "file_descriptor", "extglob_pattern",
    "regex", "heredoc_content",
})
QUOTED_NODES = frozenset({"string", "translated_string", "raw_string", "ansi_c_string"})
HOLE_NODES = frozenset({
    "simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion",
    "brace_expression",
})
# fmt: on
WORD_NODES = LITERAL_NODES | QUOTED_NODES | HOLE_NODES | {"concatenation"}
_HOME = frozenset({"$HOME", "${HOME}"})
_HERE = frozenset({"$PWD", "${PWD}"})
_META = frozenset("\"'`;&|<>() \t\n\r")
_CHUNKS = re.compile(r"([{},])")
_WILD = re.compile(r"[*?\[]")
_MANY = ("$@", "$*", "[@]", "[*]")


class MisreadError(Exception):
    """The tree and the text do not go together the way bash would read them."""


@frozen
class Hole:
    """`shape` is `~` for the home directory, `.` for the working directory, otherwise UNKNOWN."""

    shape: str
    splits: bool
    inner: tuple[str, ...] = ()


@frozen
class Reader:
    """Makes words of the nodes of one text.

    `nested` walks the commands inside an expansion and returns the programs it found there.
    """

    source: bytes
    nested: Callable[["Node", bool], tuple[str, ...]]
    holes: list[Hole] = field(factory=list)

    def text(self, start: int, end: int) -> str:
        return self.source[start:end].decode()

    def of(self, node: "Node") -> str:
        return self.text(node.start_byte, node.end_byte)

    # ------------------------------------------------------------ from nodes to atoms

    def words(self, nodes: Sequence["Node"], *, braces: bool = True) -> list[Word]:
        """The words that nodes written without a gap become."""
        source = self.text(nodes[0].start_byte, nodes[-1].end_byte)
        atoms = tuple(self._in_a_row(nodes))
        if atoms and atoms[0].char.startswith("#") and not atoms[0].quoted:
            raise MisreadError("a comment was taken for a word")
        if not braces:
            return [self._word(atoms, source)]
        try:
            found = expand_braces(atoms)
            return [self._word(one, source) for one in found if one or len(found) == 1]
        except UnclearBracesError:
            self.holes.append(Hole(UNKNOWN, splits=True))
            return [self._word((*_before_brace(atoms), self._hole_atom()), source)]

    def _in_a_row(self, nodes: Sequence["Node"]) -> Iterator[Atom]:
        last = Atom("", True)
        for node in glued(nodes, self.source):
            quotes = self.source[node.start_byte : node.start_byte + 1] in (b"'", b'"')
            if quotes and not last.quoted and last.char.endswith("$"):
                raise MisreadError("a string after $ is read in two ways")
            for atom in self._atoms(node, quoted=False):
                if not (last.quoted or atom.quoted) and is_live(last.char[-1:] + atom.char[:1]):
                    raise MisreadError("a variable is read in two ways")
                yield atom
                last = atom

    def _atoms(self, node: "Node", *, quoted: bool) -> Iterator[Atom]:
        kind, text = node.type, self.of(node)
        if kind in LITERAL_NODES or (not node.is_named and not quoted):
            yield from self._literal(text)
        elif kind == "raw_string":
            yield from _quoted(text[1:-1])
        elif kind == "ansi_c_string":
            plain = ansi_c(text[2:-1])
            if plain is None:
                raise MisreadError("a string in $'' has unusual characters")
            yield from _quoted(plain)
        elif kind in ("string", "translated_string"):
            yield from self._string(node)
        elif kind == "concatenation":
            yield from self._in_a_row(node.children)
        elif kind in HOLE_NODES:
            self.holes.append(self._hole(node, text, quoted))
            yield self._hole_atom(quoted)
        else:
            raise MisreadError(f"there is an unknown kind of word: {text[:40]}")

    def _hole_atom(self, quoted: bool = False) -> Atom:
        return Atom("", quoted, len(self.holes) - 1)

    def _literal(self, text: str) -> Iterator[Atom]:
        for piece, protected in unquoted(text):
            if not protected and (is_live(piece) or not _META.isdisjoint(piece)):
                raise MisreadError(f"a word is read in two ways: {text[:40]}")
            yield from (Atom(chunk, protected) for chunk in _CHUNKS.split(piece) if chunk)

    def _string(self, node: "Node") -> Iterator[Atom]:
        children = [c for c in node.children if c.type in HOLE_NODES or (c.type == "$" and not c.is_named)]
        if self.source[node.end_byte - 1 : node.end_byte] != b'"':
            raise MisreadError("a string does not end")
        if not node.children or node.children[0].type not in ('"', '$"'):
            raise MisreadError("a string is read in two ways")
        yield from self.mixed(node.children[0].end_byte, node.end_byte - 1, children, in_double_quotes)
        yield Atom("", True)  # an empty string is a word too

    def mixed(
        self, start: int, end: int, nodes: Iterable["Node"], plain: Callable[[str], str], stop: str = '"'
    ) -> Iterator[Atom]:
        """Quoted text from `start` to `end` with expansions at `nodes`."""
        for node in nodes:
            if node.type in HOLE_NODES:
                yield from self._plain(start, node.start_byte, plain, stop)
                yield from self._atoms(node, quoted=True)
                start = node.end_byte
        yield from self._plain(start, end, plain, stop)

    def _plain(self, start: int, end: int, plain: Callable[[str], str], stop: str) -> Iterator[Atom]:
        text = self.text(start, end)
        if is_live(text) or any(stop and stop in piece for piece, protected in unquoted(text) if not protected):
            raise MisreadError("a string is read in two ways")
        yield from _quoted(plain(text))

    def _hole(self, node: "Node", text: str, quoted: bool) -> Hole:
        inner = self.nested(node, quoted)
        if text in _HOME:
            return Hole("~", splits=False)
        if text in _HERE:
            return Hole(".", splits=False)
        splits = not quoted and node.type not in ("process_substitution", "arithmetic_expansion")
        return Hole(UNKNOWN, splits or any(many in text for many in _MANY), inner)

    # ------------------------------------------------------------ from atoms to words

    def _word(self, atoms: Atoms, source: str) -> Word:
        holes = [self.holes[a.hole] for a in atoms if a.hole >= 0]
        shape = "".join(self.holes[a.hole].shape if a.hole >= 0 else a.char for a in atoms)
        tilde = _tilde(atoms)
        if tilde:
            shape = ("~" if tilde == "~" else UNKNOWN) + shape[len(tilde) :]
        first = next((a for a in atoms if a.char or a.hole >= 0), None)
        home = tilde == "~" or (first is not None and first.hole >= 0 and self.holes[first.hole].shape == "~")
        wild = _is_wild(atoms)
        known = not holes and not tilde and not wild
        return Word(
            text=shape if known else None,
            shape=shape,
            source=source,
            wild=wild,
            home=home and shape[1:2] in ("", "/"),
            splits=wild or any(h.splits for h in holes),
            inner=tuple(name for h in holes for name in h.inner),
        )

    def whole(self, atoms: Iterable[Atom], source: str) -> Word:
        """One quoted text, such as the body of a here-document."""
        return self._word(tuple(Atom(a.char, True, a.hole) for a in atoms), source)


def glued(nodes: Sequence["Node"], source: bytes) -> Sequence["Node"]:
    """`nodes`, after a look that nothing but line continuations stands between them."""
    for left, right in pairwise(nodes):
        if source[left.end_byte : right.start_byte].replace(b"\\\n", b""):
            raise MisreadError("a word has a gap")
    return nodes


def groups(nodes: Sequence["Node"], source: bytes) -> list[list["Node"]]:
    """Nodes of one command, those of each word together."""
    found: list[list[Node]] = []
    for node in nodes:
        gap = source[found[-1][-1].end_byte : node.start_byte].replace(b"\\\n", b"") if found else b" "
        if gap.strip(b" \t"):
            raise MisreadError("a command is read in two ways")
        if gap:
            found.append([node])
        else:
            found[-1].append(node)
    return found


def _quoted(text: str) -> Iterator[Atom]:
    yield Atom(text, True)


def _before_brace(atoms: Atoms) -> Atoms:
    end = next((i for i, a in enumerate(atoms) if a.char == "{" and not a.quoted), len(atoms))
    return atoms[:end]


def _tilde(atoms: Atoms) -> str:
    """The `~` or `~user` that a word begins with."""
    plain = ""
    for atom in atoms:
        if atom.quoted or atom.hole >= 0:
            break
        plain += atom.char
    else:
        plain += "/"
    name, slash, _ = plain.partition("/")
    return name if slash and name.startswith("~") else ""


def _is_wild(atoms: Atoms) -> bool:
    return any(not a.quoted and _WILD.search(a.char) for a in atoms)
