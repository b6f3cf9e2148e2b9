"""Content blocks: what prompts, messages and tool results are made of."""

from enum import StrEnum

from attrs import frozen

from quillback_protocol.acp.base import Base


class Role(StrEnum):
    ASSISTANT = "assistant"
    USER = "user"


@frozen
class Annotations(Base):
    """`last_modified` is ISO 8601; `priority` runs from 0 to 1."""

    audience: tuple[Role, ...] | None = None
    last_modified: str | None = None
    priority: float | None = None


@frozen
class TextContent(Base):
    text: str
    annotations: Annotations | None = None


@frozen
class ImageContent(Base):
    """`data` is base64."""

    data: str
    mime_type: str
    uri: str | None = None
    annotations: Annotations | None = None


@frozen
class AudioContent(Base):
    """`data` is base64."""

    data: str
    mime_type: str
    annotations: Annotations | None = None


@frozen
class ResourceLink(Base):
    """`size` is in bytes."""

    name: str
    uri: str
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    title: str | None = None
    annotations: Annotations | None = None


@frozen
class TextResourceContents(Base):
    text: str
    uri: str
    mime_type: str | None = None


@frozen
class BlobResourceContents(Base):
    """`blob` is base64."""

    blob: str
    uri: str
    mime_type: str | None = None


EmbeddedResourceResource = TextResourceContents | BlobResourceContents


@frozen
class EmbeddedResource(Base):
    resource: EmbeddedResourceResource
    annotations: Annotations | None = None


ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource
