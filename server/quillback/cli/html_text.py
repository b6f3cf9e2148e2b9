"""Text of models, users and tools as HTML that does nothing: no script runs, nothing is fetched when it is opened."""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from quillback.cli.clean import clean

_SAFE_SCHEMES = frozenset({"http", "https", "mailto"})
_PICTURES = re.compile(r"image/(png|jpeg|gif|webp)")
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")


def escaped(text: str) -> str:
    """`text` for any place in a page: between tags, and in an attribute in double quotes."""
    return escapeHtml(clean(text))


def markdown(text: str) -> str:
    """Markdown as HTML. HTML in it is shown as text, links lead to the web only, pictures become links."""
    rendered: str = _MARKDOWN.render(clean(text))
    return rendered


def picture(data: str, mime_type: str) -> str:
    """A picture inside the page; a note for what no browser shows, or what is no picture."""
    if _PICTURES.fullmatch(mime_type) and _BASE64.fullmatch(data):
        return f'<img alt="" src="data:{mime_type};base64,{"".join(data.split())}">'
    return f'<p class="note">(an image, {escaped(mime_type)})</p>'


def _safe(url: str) -> bool:
    try:
        return urlsplit(url).scheme.lower() in _SAFE_SCHEMES
    except ValueError:
        return False


class _Renderer(RendererHTML):
    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """A picture would be fetched by whoever opens the page, and tell of it."""
        token = tokens[idx]
        address = escapeHtml(str(token.attrGet("src") or ""))
        return f'<a href="{address}" rel="noreferrer noopener">{escapeHtml(token.content or "image")}</a>'

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        tokens[idx].attrSet("rel", "noreferrer noopener")
        return self.renderToken(tokens, idx, options, env)


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer).enable(["table", "strikethrough"])
    parser.validateLink = _safe  # type: ignore[method-assign]  # the library's own way to set it
    return parser


_MARKDOWN = _parser()
