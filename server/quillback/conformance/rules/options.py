"""Config options of sessions, for agents that have some."""

from collections.abc import Iterator

from quillback.conformance.judge import (
    UNKNOWN_SESSION,
    list_of,
    not_declared,
    refused,
    result_of,
    twice,
    with_code,
)
from quillback.conformance.lab import Lab
from quillback.conformance.rule import (
    ADVISORY,
    CAPABILITY,
    MANDATORY,
    Failed,
    Hindrance,
    NotRun,
    Passed,
    Verdict,
    rule,
    verdict,
    watch,
)
from quillback.conformance.text import short, what_came
from quillback.conformance.trace import Trace
from quillback_protocol.jsonrpc import INVALID_PARAMS, RESOURCE_NOT_FOUND, JsonObject

PAGE = "Session Config Options"
SET = "session/set_config_option"


async def _options(lab: Lab) -> tuple[str, list[JsonObject], JsonObject] | NotRun:
    """A new session, its options, and the whole answer."""
    new = await (await lab.shared()).new()
    options = list_of(new.get("configOptions"))
    return (str(new["sessionId"]), options, new) if options else not_declared("configOptions in session/new")


def _values(option: JsonObject) -> list[object]:
    """What can be chosen, in groups or not."""
    values = []
    for entry in list_of(option.get("options")):
        values += [o.get("value") for o in list_of(entry.get("options"))] if "group" in entry else [entry.get("value")]
    return values


def _wrong(options: list[JsonObject]) -> Iterator[str]:
    yield from (f"the id {found} is there twice" for found in twice([option.get("id") for option in options]))
    for option in options:
        if option.get("type") == "select":
            values = _values(option)
            if option.get("currentValue") not in values:
                yield f"{option.get('id')} is {short(option.get('currentValue'))}, which is none of its options"
            yield from (f"{option.get('id')} has the value {found} twice" for found in twice(values))


@rule("ACP-OPT-001", CAPABILITY, PAGE, "the current value of an option is one of its values; ids and values are unique")
async def current(lab: Lab) -> Verdict:
    found = await _options(lab)
    return found if isinstance(found, NotRun) else verdict(_wrong(found[1]), found, "configOptions")


@rule("ACP-OPT-002", CAPABILITY, PAGE, "set_config_option answers with the complete list, the new value in it")
async def set_option(lab: Lab) -> Verdict:
    found = await _options(lab)
    if isinstance(found, NotRun):
        return found
    session, options, _ = found
    choice = _choice(options)
    if choice is None:
        return NotRun(Hindrance.NOTHING_SEEN, "no option has a second value")
    option, value = choice
    run = await lab.shared()
    params = {"sessionId": session, "configId": option["id"]}
    answer = await run.ask(SET, {**params, "value": value})
    await run.ask(SET, {**params, "value": option.get("currentValue")})
    listed = list_of(result_of(answer).get("configOptions"))
    after = next((o for o in listed if o.get("id") == option["id"]), {})
    if after.get("currentValue") != value:
        return Failed(f"after {short({**params, 'value': value})}: {what_came(answer)}")
    missing = _ids(options) - _ids(listed)
    if missing and option.get("category") != "model":  # what can be set may depend on the model
        return Failed(f"{', '.join(missing)} is missing in the answer")
    return Passed()


def _ids(options: list[JsonObject]) -> set[str]:
    return {str(option.get("id")) for option in options}


def _choice(options: list[JsonObject]) -> tuple[JsonObject, object] | None:
    """An option and another value of it; what changes least comes first."""
    for option in sorted(options, key=lambda o: o.get("category") == "model"):
        others = [value for value in _values(option) if value != option.get("currentValue")]
        if option.get("type") == "select" and others:
            return option, others[0]
    return None


async def _set(lab: Lab, **more: object) -> JsonObject | NotRun:
    found = await _options(lab)
    if isinstance(found, NotRun):
        return found
    session, options, _ = found
    params = {"sessionId": session, "configId": options[0].get("id"), "value": options[0].get("currentValue")}
    return await (await lab.shared()).ask(SET, {**params, **more}, hostile=True)


@rule("ACP-OPT-003", CAPABILITY, PAGE, "an option that does not exist is refused")
async def unknown_option(lab: Lab) -> Verdict:
    answer = await _set(lab, configId="quillback-check-no-such-option")
    return answer if isinstance(answer, NotRun) else refused(answer)


@rule("ACP-OPT-004", CAPABILITY, PAGE, "a value that is none of the option's is refused")
async def unknown_value(lab: Lab) -> Verdict:
    found = await _options(lab)
    if isinstance(found, NotRun):
        return found
    session, options, _ = found
    selects = [option for option in options if option.get("type") == "select"]
    # some agents take any model that the service might know
    selects = [option for option in selects if option.get("category") != "model"]
    if not selects:
        return NotRun(Hindrance.NOTHING_SEEN, "no option but the model has a list of values")
    params = {"sessionId": session, "configId": selects[0]["id"], "value": "quillback-check-no-such-value"}
    return refused(await (await lab.shared()).ask(SET, params, hostile=True))


@rule("ACP-OPT-005", ADVISORY, "Error", "the error for an option that does not exist is -32602")
async def unknown_option_code(lab: Lab) -> Verdict:
    answer = await _set(lab, configId="quillback-check-no-such-option")
    return answer if isinstance(answer, NotRun) else with_code(answer, INVALID_PARAMS)


@rule("ACP-OPT-006", ADVISORY, "Error", "set_config_option for a session that does not exist is answered with -32002")
async def unknown_session(lab: Lab) -> Verdict:
    answer = await _set(lab, sessionId=UNKNOWN_SESSION)
    return answer if isinstance(answer, NotRun) else with_code(answer, RESOURCE_NOT_FOUND)


@rule("ACP-OPT-007", ADVISORY, PAGE, "modes and the option of category mode say the same")
async def in_step(lab: Lab) -> Verdict:
    found = await _options(lab)
    if isinstance(found, NotRun):
        return found
    _, options, new = found
    modes, option = new.get("modes"), next((o for o in options if o.get("category") == "mode"), None)
    if not isinstance(modes, dict) or option is None:
        return NotRun(Hindrance.NOT_DECLARED, "the agent has not both modes and an option of category mode")
    same = modes.get("currentModeId") == option.get("currentValue")
    came = f"currentModeId {short(modes.get('currentModeId'))}, currentValue {short(option.get('currentValue'))}"
    return Passed() if same else Failed(came)


def _lists(trace: Trace) -> list[list[JsonObject]]:
    """Every list of options that came, with those of answers first."""
    results = [s.answer.get("result") for s in trace.answers()]
    found = [list_of(result.get("configOptions")) for result in results if isinstance(result, dict)]
    return [lst for lst in [*found, *(list_of(s.update.get("configOptions")) for s in trace.updates())] if lst]


@watch("ACP-OPT-008", MANDATORY, PAGE, "only clients that declare session.configOptions.boolean get boolean options")
def no_boolean(trace: Trace) -> Verdict:
    wrong = []
    for seen in trace.answers():
        result = seen.answer.get("result")
        offered = "session" in seen.offered
        for option in list_of(result.get("configOptions")) if isinstance(result, dict) and not offered else ():
            wrong += [short(option)] if option.get("type") == "boolean" else []
    return verdict(wrong, _lists(trace), "configOptions")


@watch("ACP-OPT-009", CAPABILITY, PAGE, "config_option_update has the complete list, as session/new had it")
def complete(trace: Trace) -> Verdict:
    new = [s.answer["result"] for s in trace.answers("session/new") if isinstance(s.answer.get("result"), dict)]
    first = {str(result.get("sessionId")): list_of(result.get("configOptions")) for result in new}
    wrong = []
    for seen in trace.updates("config_option_update"):
        options, before = list_of(seen.update.get("configOptions")), first.get(seen.session, [])
        missing = _ids(before) - _ids(options)
        if missing and _model(before) == _model(options):  # what can be set may depend on the model
            wrong.append(f"{', '.join(missing)} is missing")
        wrong += _wrong(options)
    return verdict(wrong, trace.updates("config_option_update"), "config_option_update")


def _model(options: list[JsonObject]) -> object:
    return next((option.get("currentValue") for option in options if option.get("category") == "model"), None)
