"""Where in a shell command a value may stand: only as a word that the shell hands on, never as one that it, or the
program that gets it, runs or evaluates. What is not known to be safe is refused."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from quillback.recipes.command_words import (
    EVALUATES,
    KEEPS,
    RefusedError,
    Word,
    base,
    look_at_command,
    look_at_test,
    word_of,
    words_in,
)

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LENGTH_LIMIT = 20_000
PIPES_LIMIT = 500
"""Bytes and pipes of a command with placeholders: the parser has no other bound."""

REMEDY = "hand the value to a script as an argument, or in a variable: VALUE={{ key }} sh script.sh"
_AROUND = frozenset(
    {
        "program",
        "list",
        "pipeline",
        "negated_command",
        "subshell",
        "compound_statement",
        "redirected_statement",
        "if_statement",
        "elif_clause",
        "else_clause",
        "while_statement",
        "do_group",
    }
)
_EVALUATING = {
    "arithmetic_expansion": "$((",
    "c_style_for_statement": "for ((",
    "subscript": "a subscript",
    "function_definition": "a function",
    "ansi_c_string": "$'",
    "heredoc_redirect": "<<",
    "herestring_redirect": "<<<",
}
_ODD = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]|(?<![ \t])\\\n")
"""What the parser may read otherwise than the shell."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPECIAL = re.compile(
    r"PATH|IFS|ENV|CDPATH|SHELLOPTS|S?RANDOM|SECONDS|OPTIND|PROMPT_COMMAND|PS\d|(BASH|LD_|DYLD_|HIST|GIT_|PYTHON|PERL"
    r"|RUBY|NODE_|EDITOR|VISUAL|PAGER).*"
)


def why_not(command: str, mark: str, marks: int) -> str:
    """Why a value could become more than a word; empty for nothing. `mark` stands for a value, `marks` times, as a
    quoted word: what the shell makes of the rest does not depend on what is quoted."""
    source = command.encode(errors="replace")
    if len(source) > LENGTH_LIMIT or source.count(b"|") > PIPES_LIMIT:
        return f"a command with placeholders has at most {LENGTH_LIMIT:,} bytes and {PIPES_LIMIT} pipes; {REMEDY}"
    root = _parser().parse(source).root_node
    try:
        nodes = list(_nodes(root))
        if root.has_error or _ODD.search(command) or any(node.is_missing for node in nodes):
            raise RefusedError("this command with placeholders cannot be read with certainty")
        found = [node for node in nodes if node.type == "raw_string" and _text(node) == mark]
        if len(found) != marks:
            raise RefusedError("a placeholder cannot stand there")
        for node in nodes:
            _look_for_evaluation(node)
        for command_node in {node.id: node for node in map(_holder, found)}.values():
            _look_at(command_node, mark)
    except RefusedError as refused:
        return f"{refused}; {REMEDY}"
    return ""


def _nodes(root: "Node") -> "Iterator[Node]":
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


def _text(node: "Node") -> str:
    return (node.text or b"").decode(errors="replace")


def _look_for_evaluation(node: "Node") -> None:
    """A value in a variable would be evaluated there too, so these stand in no command with placeholders."""
    sign = _EVALUATING.get(node.type)
    if node.type in ("test_command", "compound_statement") and _text(node).startswith(("[[", "((")):
        sign = _text(node)[:2]
    if node.type == "expansion" and not re.fullmatch(r"\$\{#?\w+(:?[-+=?][^$`\[]*)?\}", _text(node)):
        sign = "such an expansion"
    if sign:
        raise RefusedError(f"a command with placeholders cannot have {sign} in it")


def _holder(mark: "Node") -> "Node":
    """The command whose word, or file, the value is. Raises RefusedError for every other place."""
    node = mark.parent
    if node is not None and node.type == "concatenation":
        node = node.parent
    if node is not None and node.type == "variable_assignment":
        node = node.parent
        if node is None or node.type != "command":
            raise RefusedError("a placeholder cannot be assigned to a variable that the shell keeps")
    elif node is not None and node.type == "file_redirect":
        node = node.parent
    held = node
    while node is not None and node.type in ("test_command", "unary_expression", "binary_expression"):
        held, node = node, node.parent
    while held is not None and held.type in ("unary_expression", "binary_expression"):
        held = held.parent
    outer = held if held is None or held.type == "redirected_statement" else held.parent
    while outer is not None and outer.type in _AROUND:
        outer = outer.parent
    if held is None or held.type not in ("command", "test_command", "redirected_statement") or outer is not None:
        raise RefusedError("a placeholder can only be a word of a command, and not inside quotes or a substitution")
    return held


def _look_at(node: "Node", mark: str) -> None:
    if node.type == "test_command":
        look_at_test(words_in(_text(node), mark)[1:-1])
        return
    if node.type != "command":
        return
    name = node.child_by_field_name("name")
    words = [word_of(_text(child), mark) for child in node.children_by_field_name("argument")]
    head = word_of(_text(name), mark) if name is not None else Word(None)
    if any(c.type == "variable_assignment" and mark in _text(c) for c in node.children):
        for child in node.children:
            _look_at_assignment(child, mark, base(head))
    look_at_command([head, *words])


def _look_at_assignment(node: "Node", mark: str, command: str) -> None:
    if node.type != "variable_assignment" or mark not in _text(node):
        return
    variable = _text(node).partition("=")[0]
    if not _VARIABLE.fullmatch(variable) or _SPECIAL.fullmatch(variable):
        raise RefusedError(f"a placeholder cannot be the value of {variable}")
    if not command or command in KEEPS | EVALUATES:
        raise RefusedError(f"a placeholder cannot be in a variable for {command or 'this command'}")


@lru_cache(maxsize=1)
def _parser() -> "Parser":
    import tree_sitter_bash  # takes a while, and most recipes have no placeholder in a command
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))
