"""Reads the parts of commands out of the syntax tree: words, assignments, redirections, expansions."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from quillback.inspectors import shell_syntax_tree as syntax
from quillback.inspectors.shell_findings import Around, Findings
from quillback.inspectors.shell_script import Assignment, Command, Redirect, Word, hole, literal
from quillback.inspectors.shell_syntax_words import (
    HOLE_NODES,
    LITERAL_NODES,
    QUOTED_NODES,
    WORD_NODES,
    MisreadError,
    Reader,
    groups,
)
from quillback.inspectors.shell_text import in_backticks, in_here_document, is_live

if TYPE_CHECKING:
    from tree_sitter import Node

REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_NO_WORDS = frozenset({"file_descriptor", "heredoc_content"})
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_VARIABLE = re.compile(r"\$(?:\w+|[@*#?$!-])", re.ASCII)
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_BACKTICKS = re.compile(r"`((?:\\.|[^`\\])*)`", re.DOTALL)
_NEWER = re.compile(r"\$\{[\s|]")
_COMPUTED = re.compile(r"[\[!@:=]")


@frozen
class Parts:
    """`visit` walks the commands of a node."""

    source: bytes
    findings: Findings
    visit: Callable[["Node", Around], None]

    def text(self, node: "Node") -> str:
        return self.source[node.start_byte : node.end_byte].decode()

    # ------------------------------------------------------------ words

    def words(self, nodes: Sequence["Node"], around: Around, *, braces: bool = True) -> list[Word]:
        """The words that nodes without a gap between them become; a hole for what is misread."""
        self.findings.spend(1)
        try:
            return self._reader(around).words(nodes, braces=braces)
        except MisreadError as error:
            self.findings.unclear(str(error))
            return [hole(self.source[nodes[0].start_byte : nodes[-1].end_byte].decode())]

    def all_words(self, nodes: Sequence["Node"], around: Around) -> list[Word]:
        return [w for group in groups(nodes, self.source) for w in self.words(group, around)]

    def loose(self, node: "Node", around: Around) -> list[Word]:
        """A word that is no command's: in a `for`, a `case` or a test. Patterns are only looked at for code."""
        if node.type in LITERAL_NODES and node.type != "word":
            self._plain(node)
            return []
        return self.words([node], around, braces=False)

    def _reader(self, around: Around) -> Reader:
        return Reader(self.source, lambda node, quoted: self._nested(node, around, quoted))

    # ------------------------------------------------------------ assignments and redirections

    def assignment(self, node: "Node", around: Around) -> Assignment:
        name, operator, *value = node.children
        if name.end_byte != operator.start_byte or (value and value[0].start_byte != operator.end_byte):
            raise MisreadError("an assignment is read in two ways")
        if name.type == "subscript":
            self.expression(name, around)
        variable = self.text(name).partition("[")[0]
        if not _NAME.fullmatch(variable):
            raise MisreadError("an assignment is read in two ways")
        if not value:
            return Assignment(variable, literal(""))
        if value[0].type == "array":
            self.findings.hold(self.all_words([n for n in value[0].children if n.is_named], around))
            return Assignment(variable, None)
        words = self.words(value, around, braces=False)
        self.findings.hold(words)
        return Assignment(variable, words[0])

    def redirects(self, nodes: Sequence["Node"], around: Around) -> tuple[tuple[Redirect, ...], tuple[Word, ...]]:
        """The redirections, and the words of the command that stand after one."""
        found: list[Redirect] = []
        late: list[Word] = []
        for node in nodes:
            descriptor = self._descriptor(node)
            if node.type == "heredoc_redirect":
                found.append(self._here_document(node, around, descriptor))
                inner, more = self.redirects([n for n in node.children if n.type in REDIRECTS], around)
                found += inner
                words = [n for n in node.children if n.type in WORD_NODES - _NO_WORDS]
                late += [*self.all_words(words, around), *more]
                continue
            groups(node.children, self.source)  # a line break would end the command
            operator = next(n for n in node.children if not n.is_named)
            closes = [literal("-")] if operator.type.endswith("-") else []
            if closes:
                syntax.check_end(operator, self.source)
            given = [n for n in node.children if n != operator and n.type != "file_descriptor"]
            target, *rest = [*closes, *self._targets(given, around)] or [literal("-")]
            if "&" in operator.type and target.shape[:1] == "-" and target.shape != "-":
                raise MisreadError("a redirection is read in two ways")
            if operator.type == "<<<":
                self.findings.hold([target])
            elif target.text is not None and is_live(target.text):
                raise MisreadError("the target of a redirection may be expanded twice")
            found.append(Redirect(operator.type, target, descriptor))
            late += rest
        return tuple(found), tuple(late)

    def _descriptor(self, node: "Node") -> str:
        """The number before a redirection's sign."""
        first = node.children[0]
        syntax.check_token(next(n for n in node.children if not n.is_named), self.source)
        if first.type != "file_descriptor":
            if syntax.misses_descriptor(node, self.source):
                self.findings.unclear("a redirection is read in two ways")
            return ""
        if not self.text(first).isdecimal() or first.end_byte != node.children[1].start_byte:
            raise MisreadError("a redirection is read in two ways")
        return self.text(first)

    def _targets(self, nodes: Sequence["Node"], around: Around) -> list[Word]:
        """The words after a redirection's sign; only those after the first have braces that are alternatives."""
        found = groups(nodes, self.source)
        return [w for i, group in enumerate(found) for w in self.words(group, around, braces=i > 0)]

    def _here_document(self, node: "Node", around: Around, descriptor: str) -> Redirect:
        start, end, live = syntax.here_document(node, self.source)
        groups([n for n in node.children if n.type not in ("heredoc_body", "heredoc_end")], self.source)
        reader = self._reader(around)
        if not live:
            return Redirect("<<", literal(reader.text(start, end)), descriptor)
        body = next(n for n in node.children if n.type == "heredoc_body")
        try:
            atoms = tuple(reader.mixed(start, end, body.children, in_here_document, stop=""))
        except MisreadError as error:
            self.findings.unclear(str(error))
            for found in _BACKTICKS.finditer(reader.text(start, end)):
                self.findings.code(in_backticks(found[1], quoted=True), around)
            return Redirect("<<", hole("<<"), descriptor)
        return Redirect("<<", reader.whole(atoms, "<<"), descriptor)

    # ------------------------------------------------------------ expansions

    def _nested(self, node: "Node", around: Around, quoted: bool) -> tuple[str, ...]:
        """The programs of an expansion; walks them."""
        inside = evolve(around, background=False, depth=around.depth + 1)
        start, text = self.findings.count, self.text(node)
        if node.type in ("command_substitution", "process_substitution"):
            self._substitution(node, text, inside, quoted)
        elif node.type == "simple_expansion":
            if not _VARIABLE.fullmatch(text):
                raise MisreadError("a variable is read in two ways")
        else:
            if _NEWER.match(text):
                raise MisreadError("there is a substitution of a kind that only newer shells know")
            if node.type == "expansion":
                syntax.check_braces(node, self.source, HOLE_NODES if quoted else HOLE_NODES | QUOTED_NODES)
            if node.type == "arithmetic_expansion" or _COMPUTED.search(text):
                self.expression(node, inside)
            else:
                self._leaves(node, inside)
        return self.findings.names(start)

    def _substitution(self, node: "Node", text: str, inside: Around, quoted: bool) -> None:
        if text.startswith("`") and "`" in _ESCAPED.sub("", text[1:-1]):
            raise MisreadError("a substitution is read in two ways")
        if text.startswith("`") and "\\" in text:
            self.findings.code(in_backticks(text[1:-1], quoted=quoted), inside)
            return
        if text.startswith("$(("):
            self.findings.unclear("$(( is read in two ways")
        if text.startswith(">("):
            inside = evolve(inside, upstream=("?",), piped=None)
        for child in self.checked(node.children):
            if child.type in REDIRECTS:
                read, _ = self.redirects([child], inside)  # $(< file)
                self.findings.add(Command((), redirects=read, source=text), inside)
            elif child.is_named:
                self.visit(child, inside)

    def expression(self, node: "Node", around: Around) -> None:
        """Arithmetic and tests: what matters are the commands inside, and texts that computing would run."""
        self.findings.evaluates = True
        if any(child.type in ("((", "$((") for child in node.children[:2]):
            syntax.check_parentheses(node, self.source)
        self._leaves(node, around)

    def _leaves(self, node: "Node", around: Around) -> None:
        for child in node.children:
            if child.type in HOLE_NODES | QUOTED_NODES | {"concatenation", "word"}:
                self.findings.hold(self.loose(child, around))
            elif child.children:
                self._leaves(child, around)
            elif child.is_named:
                self._plain(child)

    def _plain(self, node: "Node") -> None:
        text = self.text(node)
        if is_live(text) or "<(" in text or ">(" in text:
            raise MisreadError("a pattern is read in two ways")

    def checked(self, children: Sequence["Node"]) -> list["Node"]:
        """`children` without comments, after a look that nothing was passed over between them."""
        for left, right in pairwise(children):
            syntax.check_gap(self.source, left.end_byte, right.start_byte)
        for child in children:
            if child.type == "comment":
                syntax.check_comment(child, self.source)
            elif not child.is_named:
                syntax.check_token(child, self.source)
        return [child for child in children if child.type != "comment"]
