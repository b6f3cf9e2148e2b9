"""Walks the syntax tree of a shell line and lists every command in it, with what surrounds each."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from attrs import evolve

from quillback.inspectors.shell_findings import Around, Findings
from quillback.inspectors.shell_script import Assignment, Command, Redirect, Word, literal
from quillback.inspectors.shell_syntax_parts import REDIRECTS, Parts
from quillback.inspectors.shell_syntax_words import WORD_NODES, MisreadError, groups

if TYPE_CHECKING:
    from tree_sitter import Node

DEPTH = 50
# fmt: off
_CONTAINERS = frozenset({
    "program", "list", "compound_statement", "subshell", "do_group", "if_statement", "elif_clause", "else_clause",
    "while_statement", "case_statement", "case_item", "negated_command", "ERROR",
})
_RESERVED = frozenset({
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "select", "function",
    "{", "}", "!", "[[", "]]",
})
_SETTING = frozenset({"set", "let", "read", "mapfile", "readarray", "getopts", "printf", "test", "[", "unset", "wait"})
# fmt: on
_LIKE_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[.*\])?\+?=", re.ASCII | re.DOTALL)
_IN_ASSIGNMENT = frozenset({"variable_assignment"})


class Walk:
    """Walks one text; `findings` hears of everything."""

    def __init__(self, source: bytes, findings: Findings) -> None:
        self.source = source
        self.findings = findings
        self.parts = Parts(source, findings, self.visit)

    def visit(self, node: "Node", around: Around) -> None:
        if around.depth > DEPTH:
            self.findings.unclear("it is nested too deep to be looked into")
            return
        around = evolve(around, depth=around.depth + 1)
        try:
            self._statement(node, around)
        except MisreadError as error:
            self.findings.unclear(str(error))

    def _statement(self, node: "Node", around: Around) -> None:
        match node.type:
            case "command":
                self._command(node, around)
            case "pipeline":
                self._pipeline(self.parts.checked(node.children), around)
            case "redirected_statement":
                self._redirected(node, around)
            case "declaration_command" | "unset_command":
                self._declaration(node, around)
            case "variable_assignment":
                self._add((), [self.parts.assignment(node, around)], (), around, self.parts.text(node))
            case "variable_assignments":
                for child in node.children:
                    self.visit(child, around)
            case "function_definition":
                self._function(node, around)
            case "for_statement" | "c_style_for_statement":
                self._loop(node, around)
            case "test_command":
                self._add((), [], (), around, self.parts.text(node))
                if any(odd in self.parts.text(node) for odd in ("\n", "<(", ">(")):
                    raise MisreadError("a test is read in two ways")
                self.parts.checked(node.children)
                self.parts.expression(node, around)
            case _ if node.children[:1] and node.children[0].type == "((":
                self._add((), [], (), around, self.parts.text(node))
                self.parts.expression(node, around)
            case kind if kind in _CONTAINERS:
                if kind == "subshell" and self.source[node.start_byte : node.start_byte + 2] == b"((":
                    self.findings.unclear("(( is read in two ways")
                self._children(node, around)
            case kind if kind in WORD_NODES:
                self.findings.hold(self.parts.loose(node, around))
            case _:
                self.findings.unclear(f"there is a construct it does not know: {self.parts.text(node)[:40]}")

    def _children(self, node: "Node", around: Around) -> None:
        children = self.parts.checked(node.children)
        for index, child in enumerate(children):
            if child.is_named:
                background = index + 1 < len(children) and children[index + 1].type == "&"
                self.visit(child, evolve(around, background=True) if background else around)

    def _pipeline(self, children: Sequence["Node"], around: Around) -> None:
        upstream, piped = around.upstream, around.piped
        for child in children:
            if child.is_named:
                start = self.findings.count
                self.visit(child, evolve(around, upstream=upstream, piped=piped))
                upstream, piped = (*upstream, *self.findings.names(start)), self.findings.output(start)

    def _function(self, node: "Node", around: Around) -> None:
        children = self.parts.checked(node.children)
        name, *rest = [n for n in children if n.is_named]
        redirects, late = self.parts.redirects([n for n in rest if n.type in REDIRECTS], around)
        if late:
            raise MisreadError("a function is read in two ways")
        # whoever calls it decides what it reads
        inside = evolve(
            around,
            functions=(*around.functions, self.parts.text(name)),
            redirects=(*redirects, *around.redirects),
            upstream=("?",),
            piped=None,
        )
        for child in rest:
            if child.type not in REDIRECTS:
                self.visit(child, inside)

    def _loop(self, node: "Node", around: Around) -> None:
        children = self.parts.checked(node.children)
        if any(child.type == "((" for child in children):
            self.parts.expression(node, around)
            bodies = [child for child in children if child.type in ("do_group", "compound_statement")]
        else:
            variable, *bodies = [child for child in children if child.is_named]
            self._add((), [Assignment(self.parts.text(variable), None)], (), around, "for")
        for child in bodies:
            self.visit(child, around)

    # ------------------------------------------------------------ commands

    def _command(
        self, node: "Node", around: Around, late: tuple[Word, ...] = (), outer: tuple[Redirect, ...] = ()
    ) -> None:
        children = node.children
        assignments = [self.parts.assignment(n, around) for n in children if n.type == "variable_assignment"]
        redirects, later = self.parts.redirects([n for n in children if n.type in REDIRECTS], around)
        words: list[Word] = []
        for group in groups(children, self.source):
            plain = [n for n in group if n.type not in REDIRECTS | _IN_ASSIGNMENT]
            if len(plain) < len(group) and (plain or len(group) > 1) and group[0] not in plain:
                raise MisreadError("a command is read in two ways")
            for part in plain[:1]:
                nodes = part.children if part.type == "command_name" else [part]
                words += self.parts.words([*nodes, *plain[1:]], around)
                if (
                    part.type == "command_name"
                    and words
                    and _LIKE_ASSIGNMENT.match(words[0].source.replace("\\\n", ""))
                ):
                    raise MisreadError("an assignment is read in two ways")
        if words and words[0].text in _SETTING:
            self.findings.hold(words)
            self.findings.evaluates = True
        source = self.parts.text(node)
        self._add((*words, *later, *late), assignments, (*redirects, *outer), around, source)

    def _redirected(self, node: "Node", around: Around) -> None:
        dashes = self._lost_dashes(node.children)
        nodes = [n for n in node.children if n.type in REDIRECTS]
        body = node.child_by_field_name("body")
        redirects, late = self.parts.redirects(nodes, around)
        late = (*dashes, *late)
        start = self.findings.count
        if body is None:
            self._add(late, [], redirects, around, self.parts.text(node))
        elif body.type == "command":
            self._command(body, around, late, redirects)
        elif late:
            raise MisreadError("a command is read in two ways")
        else:
            self.visit(body, evolve(around, redirects=(*redirects, *around.redirects)))
        for here in nodes:
            if here.type == "heredoc_redirect":
                self._after_here_document(here, start, around)

    def _lost_dashes(self, nodes: Sequence["Node"]) -> list[Word]:
        """The word `-` before a here-document, which the parser drops. All else between the nodes must be blank."""
        lost: list[Word] = []
        for left, right in pairwise(nodes):
            gap = self.source[left.end_byte : right.start_byte]
            if right.type == "heredoc_redirect" and re.fullmatch(rb"[ \t]+-[ \t]+", gap):
                lost.append(literal("-"))
            else:
                groups([left, right], self.source)  # a line break would end the command
        return lost

    def _after_here_document(self, node: "Node", start: int, around: Around) -> None:
        """What follows `<<END` on its line: a pipe, or commands joined by && and ||."""
        for child in node.children:
            if not child.is_named or child.type.startswith("heredoc_") or child.type in WORD_NODES | REDIRECTS:
                continue
            if child.type == "pipeline":
                upstream = (*around.upstream, *self.findings.names(start))
                fed = evolve(around, upstream=upstream, piped=self.findings.output(start))
                self._pipeline(self.parts.checked(child.children), fed)
            else:
                self.visit(child, around)

    def _declaration(self, node: "Node", around: Around) -> None:
        """`export x=1`, `declare -i x`, `unset x`: their words set variables."""
        self.findings.evaluates = True
        assignments: list[Assignment] = []
        words = [literal(self.parts.text(node.children[0]))]
        for group in groups(node.children, self.source)[1:]:
            source = self.parts.text(group[0])
            if group[0].type == "variable_assignment":
                if len(group) > 1:
                    raise MisreadError("an assignment is read in two ways")
                assignments.append(self.parts.assignment(group[0], around))
                words.append(Word(None, source, source))
            else:
                made = self.parts.words(group, around)
                assignments += [Assignment(w.shape.partition("=")[0], None) for w in made if "=" in w.shape]
                words += made
        self.findings.hold(words)
        self._add(tuple(words), assignments, (), around, self.parts.text(node))

    def _add(
        self,
        words: tuple[Word, ...],
        assignments: Sequence[Assignment],
        redirects: tuple[Redirect, ...],
        around: Around,
        source: str,
    ) -> None:
        if words and words[0].text in _RESERVED and words[0].source == words[0].text:
            raise MisreadError(f"{words[0].text} is read in two ways")
        command = Command(
            words=words,
            assignments=tuple(assignments),
            redirects=(*redirects, *around.redirects),
            via=around.via,
            privileged=around.privileged,
            remote=around.remote,
            upstream=around.upstream,
            piped=around.piped,
            functions=around.functions,
            background=around.background,
            source=source,
        )
        self.findings.add(command, around)
