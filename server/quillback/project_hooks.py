"""The hooks of a session's project: none before its files are trusted, and none after a change of one of them."""

from pathlib import Path

from quillback.hooks.files import HookSet
from quillback.trust import Standing, Trust


class ProjectHooks:
    """Looks anew whenever it is asked. That hooks which ran before are off is a problem to tell the user."""

    def __init__(self, trust: Trust, directory: Path) -> None:
        self._trust = trust
        self._directory = directory
        self._counted = False

    def __call__(self) -> HookSet:
        project = self._trust.look(self._directory)
        hooks = project.settings.hooks
        if project.standing is Standing.TRUSTED or not self._counted:
            self._counted = self._counted or bool(hooks)
            return HookSet(hooks)
        why = project.problem or (
            f"{', '.join(project.changed)} changed" if project.changed else "it is trusted no more"
        )
        advice = f"`quillback trust {project.root}` shows what is there now and lets it count again"
        return HookSet(problems=(f"The hooks of {project.root} do not run any more: {why}. {advice}.",))
