"""Every union of ACP and how its members are told apart: all discriminators are in these two tables."""

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from quillback_protocol.acp import config, content, elicitation, initialize, mcp, tool_call, update


@frozen
class Tagged:
    """Members told apart by the value of `key`. `untagged` is read without a tag and written without one."""

    union: Any
    key: str
    members: Mapping[str, type]
    untagged: type | None = None


@frozen
class Keyed:
    """Members told apart by which key is present; looked for in order."""

    union: Any
    members: Mapping[str, type]


TAGGED = (
    Tagged(
        content.ContentBlock,
        "type",
        {
            "text": content.TextContent,
            "image": content.ImageContent,
            "audio": content.AudioContent,
            "resource_link": content.ResourceLink,
            "resource": content.EmbeddedResource,
        },
    ),
    Tagged(
        tool_call.ToolCallContent,
        "type",
        {"content": tool_call.Content, "diff": tool_call.Diff, "terminal": tool_call.Terminal},
    ),
    Tagged(
        update.SessionUpdate,
        "sessionUpdate",
        {
            "user_message_chunk": update.UserMessageChunk,
            "agent_message_chunk": update.AgentMessageChunk,
            "agent_thought_chunk": update.AgentThoughtChunk,
            "tool_call": tool_call.ToolCall,
            "tool_call_update": tool_call.ToolCallUpdate,
            "plan": update.Plan,
            "available_commands_update": update.AvailableCommandsUpdate,
            "current_mode_update": update.CurrentModeUpdate,
            "config_option_update": update.ConfigOptionUpdate,
            "session_info_update": update.SessionInfoUpdate,
            "usage_update": update.UsageUpdate,
            "notice": update.Notice,
            "compaction_update": update.CompactionUpdate,
            "compaction_summary_chunk": update.CompactionSummaryChunk,
        },
    ),
    Tagged(
        tool_call.RequestPermissionOutcome,
        "outcome",
        {"selected": tool_call.SelectedPermissionOutcome, "cancelled": tool_call.CancelledPermissionOutcome},
    ),
    Tagged(
        config.SessionConfigOption,
        "type",
        {"select": config.SelectConfigOption, "boolean": config.BooleanConfigOption},
    ),
    # Some clients write a type for the two members that have none.
    Tagged(
        mcp.McpServer,
        "type",
        {"http": mcp.McpServerHttp, "sse": mcp.McpServerSse, "acp": mcp.McpServerAcp, "stdio": mcp.McpServerStdio},
        untagged=mcp.McpServerStdio,
    ),
    Tagged(
        initialize.AuthMethod,
        "type",
        {"terminal": initialize.AuthMethodTerminal, "agent": initialize.AuthMethodAgent},
        untagged=initialize.AuthMethodAgent,
    ),
    Tagged(
        elicitation.ElicitationPropertySchema,
        "type",
        {
            "string": elicitation.StringPropertySchema,
            "number": elicitation.NumberPropertySchema,
            "integer": elicitation.IntegerPropertySchema,
            "boolean": elicitation.BooleanPropertySchema,
            "array": elicitation.MultiSelectPropertySchema,
        },
    ),
    Tagged(
        elicitation.MultiSelectItems,
        "type",
        {"string": elicitation.StringMultiSelectItems},
        untagged=elicitation.TitledMultiSelectItems,
    ),
    Tagged(
        elicitation.CreateElicitationRequest,
        "mode",
        {"form": elicitation.FormElicitation, "url": elicitation.UrlElicitation},
    ),
    Tagged(
        elicitation.CreateElicitationResponse,
        "action",
        {
            "accept": elicitation.ElicitationAccepted,
            "decline": elicitation.ElicitationDeclined,
            "cancel": elicitation.ElicitationCancelled,
        },
    ),
)

KEYED = (
    Keyed(
        content.EmbeddedResourceResource,
        {"text": content.TextResourceContents, "blob": content.BlobResourceContents},
    ),
    Keyed(
        config.SelectEntry,
        {"group": config.SessionConfigSelectGroup, "value": config.SessionConfigSelectOption},
    ),
)
