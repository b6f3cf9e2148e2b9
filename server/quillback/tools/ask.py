"""ask_user: a question that only the user can answer. Where the editor has no form for it, it ends the turn."""

from collections.abc import Sequence

from attrs import evolve

from quillback.core.message import JsonObject, ToolKind
from quillback.core.model import Sketch, ToolSpec
from quillback.core.ports import EditorError, ToolError, ToolOutcome
from quillback.tools.call import Prepared, said, schema, single, string
from quillback.tools.context import ToolContext
from quillback.tools.text import clean, one_line

DESCRIPTION = (
    "Ask the user a question when the work cannot go on without an answer that neither the files nor the conversation "
    "hold. Ask one thing at a time, and offer choices where there are a few sensible ones."
)
NO_ANSWER = "The user did not answer. Go on with what is most likely wanted, or say what you need to know."
LONGEST = 2_000


class AskUser:
    def __init__(self, context: ToolContext) -> None:
        self._context = context
        self.spec = ToolSpec(
            name="ask_user",
            description=DESCRIPTION,
            input_schema=schema(
                ("question",),
                question={"type": "string", "description": "The question, in a sentence or two"},
                choices={"type": "array", "items": {"type": "string"}, "description": "Answers to choose from"},
            ),
            kind=ToolKind.OTHER,
            describe=_describe,
            read_only=True,
        )

    def touches(self, arguments: JsonObject) -> frozenset[str]:
        """Questions come one after the other."""
        return frozenset({"ask_user"})

    async def prepare(self, call_id: str, arguments: JsonObject) -> Prepared:
        question = clean(string(arguments, "question")).strip()[:LONGEST]
        if not question:
            raise ToolError("question must not be empty")
        choices = _choices(arguments.get("choices", []))
        return Prepared(single(lambda: self._ask(call_id, question, choices)))

    async def _ask(self, call_id: str, question: str, choices: Sequence[str]) -> ToolOutcome:
        editor = self._context.editor
        if not editor.capabilities.questions:
            text = question + "".join(f"\n- {choice}" for choice in choices)
            asked = said("The question was put to the user, whose next message is the answer.")
            return evolve(asked, stop_turn=True, say=text)
        try:
            answer = await editor.ask_user(self._context.session_id, call_id, question, choices)
        except EditorError as error:
            raise ToolError(f"the question could not be asked ({error}). {NO_ANSWER}") from None
        return said(NO_ANSWER) if answer is None else said(f"The user answered: {clean(answer)}")


def _choices(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ToolError("choices must be a list of strings")
    chosen = [clean(c).strip() for c in value if isinstance(c, str)]
    return tuple(dict.fromkeys(c for c in chosen if c))


def _describe(arguments: JsonObject) -> Sketch:
    question = arguments.get("question")
    return Sketch(f"Ask: {one_line(question, 120)}" if isinstance(question, str) else "Ask the user")
