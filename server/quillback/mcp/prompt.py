"""A prompt of an MCP server: what it is asked with, and what its messages say in one message of the user."""

import asyncio
from collections.abc import Iterator, Mapping

from attrs import frozen

from quillback.core.message import Image, JsonObject, Part, Resource, Text
from quillback.core.ports import ToolError
from quillback.core.prompts import PromptArgument, PromptError
from quillback.mcp.connection import Connection
from quillback.mcp.link import FoundPrompt
from quillback.mcp.result import IMAGES, Reading
from quillback.mcp.text import Keep, clean, one_line

PROMPT_SECONDS = 30.0
TEXT_LIMIT = 200_000
"""Characters of all the texts of one prompt."""

_URI_LIMIT = 1_200


@frozen
class McpPrompt:
    """Implements the Prompt port; `found.name` is what the server calls it."""

    name: str
    found: FoundPrompt
    connection: Connection
    keep: Keep

    @property
    def description(self) -> str:
        return self.found.description

    @property
    def arguments(self) -> tuple[PromptArgument, ...]:
        return self.found.arguments

    async def parts(self, values: Mapping[str, str]) -> tuple[Part, ...]:
        """Starts a dead server again first, within the same time."""
        try:
            async with asyncio.timeout(PROMPT_SECONDS):
                answer = await self.connection.prompt(self.found.name, values)
                return await asyncio.to_thread(self._read, answer)
        except TimeoutError:
            server = one_line(self.connection.server.name, 80)
            raise PromptError(f"The MCP server {server} gave no prompt within {PROMPT_SECONDS:g} s.") from None
        except ToolError as error:
            raise PromptError(str(error)) from None

    def _read(self, answer: JsonObject) -> tuple[Part, ...]:
        """May write files. Raises PromptError."""
        if answer.get("resultType") == "input_required":
            raise PromptError("The MCP server wants to know more first than can be asked here.")
        messages = answer.get("messages")
        reading = Reading(self.connection.hidden.in_result, Keep(self.keep.directory, f"{self.keep.name}-prompt"))
        parts = [
            part
            for message in (messages if isinstance(messages, list) else ())
            if isinstance(message, dict)
            for part in _message(message, reading)
        ]
        if not parts:
            raise PromptError("The MCP server gave an empty prompt.")
        size = sum(len(part.text or "") for part in parts if isinstance(part, Text | Resource))
        if size > TEXT_LIMIT or sum(isinstance(part, Image) for part in parts) > IMAGES:
            limit = f"{TEXT_LIMIT:,} characters and {IMAGES} images"
            raise PromptError(f"The MCP server gave a prompt that is larger than the limit, {limit}.")
        return tuple(parts)


def _message(message: Mapping[str, object], reading: Reading) -> Iterator[Part]:
    """What the assistant is made to say becomes a quotation: all of it is one message of the user."""
    content = message.get("content")
    for block in content if isinstance(content, list) else [content]:
        for part in _block(block, reading):
            if isinstance(part, Text) and not part.text.strip():
                continue
            if isinstance(part, Text) and message.get("role") == "assistant":
                part = Text("The assistant said:\n\n" + "\n".join(f"> {line}" for line in part.text.splitlines()))
            yield part


def _block(block: object, reading: Reading) -> Iterator[Part]:
    match block:
        case None:
            return
        case {"type": "resource", "resource": {"uri": str(uri), "text": str(text)} as resource}:
            kind = resource.get("mimeType")
            mime_type = one_line(kind, 80) if isinstance(kind, str) else ""
            address = reading.mask(one_line(uri, _URI_LIMIT))
            yield Resource(address, text=reading.mask(clean(text)), mime_type=mime_type)
        case _:
            yield from reading.block(block)
