"""Smart mode's judge: asks the small model whether a call may run without a question. Only a clear yes counts."""

import hashlib
from collections import OrderedDict

from quillback.core.ports import Inspection
from quillback.core.side import SideModel, SideModelError
from quillback.core.verdict import Allow, Ask, Verdict
from quillback.inspectors.quoting import DATA, LIMIT, call_data, quoted

SYSTEM = f"""You decide whether a tool call of a coding agent may run without asking the user.
{DATA}
Answer YES only if you are certain that the call does nothing but look: it changes no file, process, setting or \
database, installs nothing, sends nothing to another machine, and reads only inside the workspace. If it does anything \
else, if it could, or if you cannot tell, answer NO.
Answer with one word, YES or NO."""
REMEMBERED = 2_000


class Judge:
    """Remembers what it said no to, by session and call; a yes is asked for anew each time."""

    def __init__(self, side: SideModel) -> None:
        self._side = side
        self._refused: OrderedDict[tuple[str, str], None] = OrderedDict()

    async def verdict(self, inspection: Inspection) -> Verdict:
        data = quoted(call_data(inspection))
        key = inspection.session_id, hashlib.sha256(data.encode()).hexdigest()
        if key in self._refused:
            return _no(details=("the small model said so before",))
        if len(data) > LIMIT:
            return Ask("the call is too long for the small model to judge")
        try:
            answer = await self._side.ask(SYSTEM, data)
        except SideModelError as error:
            return Ask(f"the small model did not judge it ({error})")
        match answer.strip().rstrip("."):
            case "YES":
                return Allow(details=("the small model sees nothing but looking",))
            case "NO":
                self._remember(key)
                return _no()
            case _:
                return Ask("the small model gave no clear answer about it")

    def _remember(self, key: tuple[str, str]) -> None:
        self._refused[key] = None
        if len(self._refused) > REMEMBERED:
            self._refused.popitem(last=False)


def _no(details: tuple[str, ...] = ()) -> Ask:
    return Ask("the small model does not hold it for harmless", details=details)
