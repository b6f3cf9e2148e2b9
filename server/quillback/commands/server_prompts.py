"""The prompts of MCP servers as commands: `/server:prompt` with the words behind it as its arguments."""

from quillback.commands.words import deal
from quillback.core.commands import CommandInfo, CommandResult, Desk, Expand, is_name, refusal
from quillback.core.prompts import Prompt, PromptError, PromptSource

ORIGIN = "Prompts of MCP servers"


class PromptCommands:
    """A CommandSource."""

    def __init__(self, source: PromptSource) -> None:
        self._source = source

    def available(self) -> tuple[CommandInfo, ...]:
        return tuple(
            CommandInfo(p.name, p.description or f"The prompt {p.name}", _usage(p), ORIGIN)
            for p in self._source.prompts()
            if is_name(p.name)
        )

    async def run(self, name: str, argument: str, desk: Desk) -> CommandResult | None:
        prompt = next((p for p in self._source.prompts() if p.name == name), None)
        if prompt is None:
            return None
        values = dict(zip((a.name for a in prompt.arguments), deal(argument, len(prompt.arguments)), strict=False))
        missing = [a for a in prompt.arguments if a.required and not values.get(a.name)]
        if missing:
            lines = [f"- `{a.name}`{f': {a.description}' if a.description else ''}" for a in missing]
            wanted = "\n".join(["It needs:", *lines])
            return refusal(f"`/{name}` was not sent. {wanted}\n\nType it as `/{name} {_usage(prompt)}`.")
        if argument and not prompt.arguments:
            return refusal(f"`/{name}` takes no arguments.")
        try:
            return Expand(await prompt.parts(values))
        except PromptError as error:
            return refusal(f"`/{name}` failed: {error}")


def _usage(prompt: Prompt) -> str:
    return " ".join(f"<{a.name}>" if a.required else f"[{a.name}]" for a in prompt.arguments)
