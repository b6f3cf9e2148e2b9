"""The notifications about open documents."""

from lsprotocol import types

from quillback.edge.lsp.front import Front
from quillback.edge.lsp.wire import read


async def opened(front: Front, params: object) -> None:
    front.documents.opened(read(types.DidOpenTextDocumentParams, params).text_document)


async def changed(front: Front, params: object) -> None:
    front.documents.changed(read(types.DidChangeTextDocumentParams, params))


async def closed(front: Front, params: object) -> None:
    front.documents.closed(read(types.DidCloseTextDocumentParams, params).text_document.uri)
