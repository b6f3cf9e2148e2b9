"""textDocument/codeAction: what can be picked on a selection, on a diagnostic, and in answer to an open question."""

from collections.abc import Iterable

from lsprotocol import types

from quillback.core.text import one_line
from quillback.edge.lsp.front import Front
from quillback.edge.lsp.prompts import ACTIONS, PREFIX, Action
from quillback.edge.lsp.wire import plain, read

KINDS = ("quickfix", "refactor.rewrite", "quillback")
PROBLEM_LENGTH = 80
PROBLEMS = 20
Json = dict[str, object]


async def handle(front: Front, params: object) -> list[Json]:
    request = read(types.CodeActionParams, params)
    context, uri = request.context, request.text_document.uri
    found = [*_answers(front)]
    selected = request.range.start != request.range.end
    where: Json = {"uri": uri, "range": plain(request.range)}
    if problems := list(context.diagnostics)[:PROBLEMS]:
        found += _on_problems(problems, where)
    # without a selection, an offer that nobody asked for would be on every line
    if selected or context.trigger_kind is not types.CodeActionTriggerKind.Automatic:
        found += _on_code(where, selected=selected)
    wanted = [item for item in found if _fits(item, context.only)]
    return [_shape(item, literal=front.client.can(*LITERAL)) for item in wanted]


LITERAL = ("textDocument", "codeAction", "codeActionLiteralSupport")


def _answers(front: Front) -> Iterable[types.CodeAction]:
    for question in front.questions:
        for title in question.titles:
            arguments: Json = {"question": question.id, "answer": title}
            yield _action(f"Quillback: {title} ({question.short})", "quickfix", PREFIX + "answer", arguments)


def _on_problems(problems: list[types.Diagnostic], where: Json) -> Iterable[types.CodeAction]:
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    about = one_line(problems[0].message, PROBLEM_LENGTH) + more
    arguments = {**where, "diagnostics": [plain(problem) for problem in problems]}
    for action in ACTIONS.values():
        if action.on_problem:
            kind = "quickfix"
            found = _action(f"Quillback: {action.on_problem}: {about}", kind, action.command, arguments)
            found.diagnostics = problems
            yield found


def _on_code(where: Json, *, selected: bool) -> Iterable[types.CodeAction]:
    for action in ACTIONS.values():
        if action.on_code and (selected or not _needs_selection(action)):
            kind = "refactor.rewrite" if action.kind == "quickfix" else action.kind
            yield _action(f"Quillback: {action.on_code}", kind, action.command, where)


def _needs_selection(action: Action) -> bool:
    return action.name == "do"


def _action(title: str, kind: str, command: str, arguments: Json) -> types.CodeAction:
    return types.CodeAction(title, kind=kind, command=types.Command(title, command, arguments=[arguments]))


def _fits(action: types.CodeAction, only: Iterable[str] | None) -> bool:
    return only is None or any(o == "" or action.kind == o or str(action.kind).startswith(f"{o}.") for o in only)


def _shape(action: types.CodeAction, *, literal: bool) -> Json:
    shaped: Json = plain(action if literal else action.command)
    return shaped
