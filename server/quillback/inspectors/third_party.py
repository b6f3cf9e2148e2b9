"""Inspectors of other packages, found through the entry point group `quillback.inspectors`."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from importlib.metadata import EntryPoint, entry_points

from attrs import define, field, frozen

from quillback.core.ports import Inspection, Inspector
from quillback.core.verdict import Ask, Verdict

GROUP = "quillback.inspectors"
log = logging.getLogger(__name__)


@frozen
class Missing:
    """Stands in for an inspector that could not be loaded: what it would have said is not known, so each call is asked
    about."""

    name: str

    async def inspect(self, inspection: Inspection) -> Verdict:
        return Ask(f"the {self.name} inspector could not be loaded; `quillback doctor` says why")


def load(found: Iterable[EntryPoint] | None = None) -> tuple[list[Inspector], list[str]]:
    """The inspectors in the order of their names, and what is wrong with those that could not be loaded.

    An entry point names a callable without arguments that returns an Inspector.
    """
    inspectors: list[Inspector] = []
    problems: list[str] = []
    for point in sorted(entry_points(group=GROUP) if found is None else found, key=lambda p: (p.name, p.value)):
        try:
            inspectors.append(_made(point))
        except Exception as error:
            problems.append(f"the inspector {point.name} ({point.value}) cannot be loaded: {_why(error)}")
            inspectors.append(Missing(point.name))
    return inspectors, problems


def _made(point: EntryPoint) -> Inspector:
    inspector = point.load()()
    if not isinstance(getattr(inspector, "name", None), str) or not callable(getattr(inspector, "inspect", None)):
        raise TypeError("it returned something without a name or an inspect method")
    made: Inspector = inspector
    return made


def _why(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


@define
class ThirdParty:
    """Loads them once, in a thread, when the first session begins."""

    _loading: "asyncio.Task[Sequence[Inspector]] | None" = field(init=False, default=None)

    def start(self) -> "asyncio.Task[Sequence[Inspector]]":
        if self._loading is None:
            self._loading = asyncio.create_task(self._load(), name="load inspectors")
        return self._loading

    async def inspectors(self) -> Sequence[Inspector]:
        return await asyncio.shield(self.start())

    async def _load(self) -> Sequence[Inspector]:
        inspectors, problems = await asyncio.to_thread(load)
        for problem in problems:
            log.error("%s", problem)
        return inspectors
