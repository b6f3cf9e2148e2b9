"""load_skill: the model reads a skill when it fits the work. Its description names those that there are."""

from collections.abc import AsyncIterator, Mapping

from attrs import field, frozen

from quillback.core.message import JsonObject, Location, Shown, Text, ToolKind
from quillback.core.model import Sketch, ToolSpec
from quillback.core.ports import Access, Tool, ToolError, ToolOutcome, ToolProgress
from quillback.core.prompts import Prompt
from quillback.skills.catalog import Skill

NAME = "load_skill"
DESCRIPTION = "Read the instructions of a skill before you do work that it is for. The skills:\n"


@frozen
class LoadSkill:
    """Implements the Tool port."""

    skills: Mapping[str, Skill]

    @property
    def spec(self) -> ToolSpec:
        lines = "\n".join(f"- {s.name}: {s.description}" for s in self.skills.values())
        return ToolSpec(
            name=NAME,
            description=DESCRIPTION + lines,
            input_schema={
                "type": "object",
                "properties": {"name": {"type": "string", "enum": list(self.skills)}},
                "required": ["name"],
                "additionalProperties": False,
            },
            kind=ToolKind.READ,
            describe=lambda given: Sketch(f"Load the skill {given.get('name', '')}"),
            read_only=True,
        )

    def touches(self, arguments: JsonObject) -> frozenset[str]:
        return frozenset()

    async def prepare(self, call_id: str, arguments: JsonObject) -> "_Prepared":
        skill = self.skills.get(str(arguments.get("name", "")))
        if skill is None:
            raise ToolError(f"there is no such skill; the skills are {', '.join(self.skills)}")
        return _Prepared(skill)


@frozen
class _Prepared:
    """Implements the PreparedCall port."""

    skill: Skill
    access: Access = field(factory=Access)
    shown: tuple[Shown, ...] = ()
    locations: tuple[Location, ...] = ()

    async def run(self) -> AsyncIterator[ToolProgress | ToolOutcome]:
        text = f"{self.skill.body}\n\n(The files of this skill are in {self.skill.directory}.)"
        yield ToolOutcome(content=(Text(text),), shown=(Text(f"Loaded the skill {self.skill.name}"),))


@frozen
class SkillBox:
    """Implements the Toolbox port: the one tool, where there are skills."""

    skills: Mapping[str, Skill]

    def tools(self) -> list[Tool]:
        return [LoadSkill(self.skills)] if self.skills else []

    def prompts(self) -> list[Prompt]:
        return []

    def on_prompts(self, changed: object) -> None:
        """There are none that could change."""

    async def ready(self) -> None:
        pass

    async def close(self) -> None:
        pass
