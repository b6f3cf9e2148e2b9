"""Where a transcript runs: a workspace and a home of its own, gone afterwards."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from quillback.transcripts.document import FileBlock, Transcript
from quillback.transcripts.pattern import CWD

ECHO = "scripted:echo"
_KEPT = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "QUILLBACK_LOG")


@frozen
class Place:
    """`model` is the model that plays the transcript's script; one that repeats the prompt where it has none."""

    workspace: Path
    home: Path
    model: str = ECHO

    def own_environment(self, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
        """Nothing of the user's settings: for Quillback as the agent."""
        kept = {name: environ[name] for name in _KEPT if name in environ}
        return {
            **kept,
            "HOME": str(self.home),
            "QUILLBACK_HOME": str(self.home / "quillback"),
            "QUILLBACK_MODEL": self.model,
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
        }

    def foreign_environment(self, transcript: Transcript, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
        """The user's, since an agent needs its keys; a transcript with a script or a config brings Quillback's own."""
        own = {"QUILLBACK_HOME": str(self.home / "quillback")} if transcript.script or transcript.config else {}
        return {**environ, **own, **({"QUILLBACK_MODEL": self.model} if transcript.script else {})}

    def names(self) -> dict[str, object]:
        return {CWD: str(self.workspace)}

    def write(self, block: FileBlock) -> None:
        path = self.workspace / block.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text.replace(f"${CWD}", str(self.workspace)), encoding="utf-8")

    def read(self, block: FileBlock) -> str | None:
        """What the file holds by now, the workspace's path as it is written in transcripts; None if there is none."""
        try:
            text = (self.workspace / block.path).read_bytes().decode("utf-8", "replace")
        except OSError:
            return None
        return text.replace(str(self.workspace), f"${CWD}")


@contextmanager
def placed(transcript: Transcript, cwd: Path | None = None) -> Iterator[Place]:
    """A place with what the transcript's script and config say; `cwd` is a workspace to use in place of a new one."""
    top = Path(tempfile.mkdtemp(prefix="quillback-test-")).resolve()
    try:
        workspace, home = cwd or top / "workspace", top / "home"
        workspace.mkdir(exist_ok=True)
        (home / "quillback").mkdir(parents=True)
        model = ECHO
        if transcript.script:
            script = top / "model.script"
            script.write_text(transcript.script.replace(f"${CWD}", str(workspace)), encoding="utf-8")
            model = f"scripted:{script}"
        if transcript.config:
            (home / "quillback" / "config.toml").write_text(transcript.config, encoding="utf-8")
        yield Place(workspace, home, model)
    finally:
        shutil.rmtree(top, ignore_errors=True)
