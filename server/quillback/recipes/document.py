"""Reads YAML as plain JSON values and tells in which line each stands. What YAML would guess at is refused instead:
dates, keys that are no texts, keys that are there twice, aliases, tags."""

import math
from collections.abc import Mapping
from typing import Any, NoReturn, cast

import yaml
from attrs import define, field, frozen

from quillback.recipes.errors import RecipeError

Key = tuple[str | int, ...]
_TAG = "tag:yaml.org,2002:"
_SHOWN = 60


@frozen
class Document:
    """`lines` are those of the keys of tables, and of the items of lists; the first is 1."""

    file: str
    value: object
    lines: Mapping[Key, int]

    def place(self, *path: str | int) -> str:
        """`file:line`, of the nearest thing around where `path` is not there."""
        while path not in self.lines and path:
            path = path[:-1]
        return f"{self.file}:{self.lines.get(path, 1)}"


def read_document(text: str, file: str) -> Document:
    """Raises RecipeError. `file` is what errors call it."""
    try:
        loader = _Loader(text)
        try:
            root = loader.get_single_node()
            walk = _Walk(file, loader)
            value = walk.value(root, ()) if root is not None else None
        finally:
            cast("Any", loader).dispose()  # the stubs have no type for it
    except yaml.YAMLError as error:
        raise RecipeError([_told(error, file)]) from None
    except RecursionError:
        raise RecipeError([f"{file}: nested too deeply"]) from None
    return Document(file, value, walk.lines)


class _Loader(yaml.SafeLoader):
    """An alias makes a small file large, or endless; a recipe has no use for it."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = cast("Any", self).peek_event().start_mark  # the stubs have no type for it
            told = "a * begins an alias; write it out, or put it in quotes"
            raise yaml.MarkedYAMLError(problem=told, problem_mark=mark)
        return super().compose_node(parent, index)


@define
class _Walk:
    file: str
    loader: yaml.SafeLoader
    lines: dict[Key, int] = field(factory=dict)

    def value(self, node: yaml.Node, path: Key) -> object:
        self.lines.setdefault(path, _line(node))
        match node:
            case yaml.MappingNode(tag=tag) if tag == f"{_TAG}map":
                return self._table(node, path)
            case yaml.SequenceNode(tag=tag) if tag == f"{_TAG}seq":
                return [self.value(item, (*path, i)) for i, item in enumerate(node.value)]
            case yaml.ScalarNode():
                return self._scalar(node)
            case _:
                self._wrong(node, f"the tag {node.tag.removeprefix(_TAG)!r} is not known here; leave it out")

    def _table(self, node: yaml.MappingNode, path: Key) -> dict[str, object]:
        table: dict[str, object] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag != f"{_TAG}str":
                if not isinstance(key_node, yaml.ScalarNode):
                    self._wrong(key_node, "a text that begins with { or [ must be in quotes")
                self._wrong(key_node, f"the key {key_node.value} is not a text; put it in quotes")
            key = self._text(key_node)
            if key in table:
                self._wrong(key_node, f"{key}: is there twice, first in line {self.lines[(*path, key)]}; leave one out")
            self.lines[(*path, key)] = _line(key_node)
            table[key] = self.value(value_node, (*path, key))
        return table

    def _scalar(self, node: yaml.ScalarNode) -> object:
        match node.tag.removeprefix(_TAG):
            case "str":
                return self._text(node)
            case "null":
                return None
            case "bool":
                return node.value.lower() in ("yes", "true", "on")
            case "int" | "float" as kind:
                return self._number(node, kind)
            case _:
                self._wrong(node, f"{node.value[:_SHOWN]} is not a text, a number, true or false; put it in quotes")

    def _text(self, node: yaml.ScalarNode) -> str:
        text: str = node.value
        if "\0" in text or any("\ud800" <= c <= "\udfff" for c in text):
            self._wrong(node, "a text holds a NUL or half of a character; take it out")
        return text

    def _number(self, node: yaml.ScalarNode, kind: str) -> int | float:
        read = self.loader.construct_yaml_int if kind == "int" else self.loader.construct_yaml_float
        try:
            number: int | float = read(node)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            self._wrong(node, f"{node.value[:_SHOWN]} is not a number that can be used; put a text in quotes")
        return number

    def _wrong(self, node: yaml.Node, what: str) -> NoReturn:
        raise RecipeError([f"{self.file}:{_line(node)}: {what}"])


def _line(node: yaml.Node) -> int:
    return node.start_mark.line + 1


def _told(error: yaml.YAMLError, file: str) -> str:
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        what = ", ".join(text for text in (error.context, error.problem) if text)
        return f"{file}:{mark.line + 1 if mark else 1}: not valid YAML: {what}"
    return f"{file}: not valid YAML: {' '.join(str(error).split())}"
