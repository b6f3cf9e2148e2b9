"""A tiny language server for the tests: words are its symbols, `BAD` is its error, and it renames in all files."""

import re
from pathlib import Path

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

server = LanguageServer("words", "1")


def text_of(uri: str) -> str:
    return server.workspace.get_text_document(uri).source


def word_at(params: types.TextDocumentPositionParams) -> str:
    return server.workspace.get_text_document(params.text_document.uri).word_at_position(params.position)


def all_files() -> list[str]:
    root = Path(to_fs_path(server.workspace.root_uri) or ".")
    return [from_fs_path(str(path)) for path in sorted(root.glob("*.py"))]


def places(word: str) -> list[types.Location]:
    found = []
    for uri in all_files():
        for n, line in enumerate(text_of(uri).splitlines()):
            for match in re.finditer(rf"\b{re.escape(word)}\b", line):
                found.append(types.Location(uri, span(n, match.start(), match.end())))
    return found


def span(line: int, start: int, end: int) -> types.Range:
    return types.Range(types.Position(line, start), types.Position(line, end))


def functions(uri: str) -> list[tuple[str, types.Range]]:
    lines = text_of(uri).splitlines()
    found = ((n, re.match(r"def (\w+)", line)) for n, line in enumerate(lines))
    return [(match[1], span(n, 4, 4 + len(match[1]))) for n, match in found if match]


@server.feature(types.TEXT_DOCUMENT_DID_OPEN)
@server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
def changed(params: types.DidOpenTextDocumentParams | types.DidChangeTextDocumentParams) -> None:
    uri = params.text_document.uri
    problems = [
        types.Diagnostic(span(n, match.start(), match.end()), "BAD is bad", types.DiagnosticSeverity.Error)
        for n, line in enumerate(text_of(uri).splitlines())
        for match in re.finditer("BAD", line)
    ]
    server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, problems))


@server.feature(types.TEXT_DOCUMENT_RENAME)
def rename(params: types.RenameParams) -> types.WorkspaceEdit:
    changes: dict[str, list[types.TextEdit]] = {}
    for place in places(word_at(params)):
        changes.setdefault(place.uri, []).append(types.TextEdit(place.range, params.new_name))
    return types.WorkspaceEdit(changes=changes)


@server.feature(types.TEXT_DOCUMENT_REFERENCES)
def references(params: types.ReferenceParams) -> list[types.Location]:
    return places(word_at(params))


@server.feature(types.TEXT_DOCUMENT_DEFINITION)
def definition(params: types.DefinitionParams) -> list[types.Location]:
    word = word_at(params)
    return [types.Location(uri, where) for uri in all_files() for name, where in functions(uri) if name == word]


@server.feature(types.TEXT_DOCUMENT_HOVER)
def hover(params: types.HoverParams) -> types.Hover:
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, f"the word `{word_at(params)}`"))


@server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
def document_symbols(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
    kind = types.SymbolKind.Function
    return [types.DocumentSymbol(name, kind, where, where) for name, where in functions(params.text_document.uri)]


@server.feature(types.WORKSPACE_SYMBOL)
def workspace_symbols(params: types.WorkspaceSymbolParams) -> list[types.SymbolInformation]:
    kind = types.SymbolKind.Function
    return [
        types.SymbolInformation(location=types.Location(uri, where), name=name, kind=kind)
        for uri in all_files()
        for name, where in functions(uri)
        if params.query.lower() in name.lower()
    ]


@server.feature(types.TEXT_DOCUMENT_CODE_ACTION)
def code_actions(params: types.CodeActionParams) -> list[types.CodeAction]:
    edits = [types.TextEdit(problem.range, "good") for problem in params.context.diagnostics]
    if not edits:
        return []
    edit = types.WorkspaceEdit(changes={params.text_document.uri: edits})
    return [types.CodeAction("Make it good", types.CodeActionKind.QuickFix, edit=edit)]


@server.feature(types.TEXT_DOCUMENT_FORMATTING)
def formatting(params: types.DocumentFormattingParams) -> list[types.TextEdit]:
    lines = text_of(params.text_document.uri).splitlines()
    return [
        types.TextEdit(span(n, len(line.rstrip()), len(line)), "")
        for n, line in enumerate(lines)
        if line != line.rstrip()
    ]


if __name__ == "__main__":
    server.start_io()
