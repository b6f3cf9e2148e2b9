"""Where the data and the configuration are."""

from collections.abc import Callable, Mapping
from pathlib import Path


def platform_dirs() -> tuple[Path, Path]:
    """The data and the configuration directory of the platform."""
    from platformdirs import PlatformDirs

    dirs = PlatformDirs("quillback", appauthor=False)
    return dirs.user_data_path, dirs.user_config_path


def directories(
    env: Mapping[str, str], platform_dirs: Callable[[], tuple[Path, Path]], problems: list[str]
) -> tuple[Path, Path]:
    """The same two; `QUILLBACK_HOME` is both of them. What is wrong with it is added to `problems`.

    A relative one is refused: it would be another one in each project, and inside of it.
    """
    named = env.get("QUILLBACK_HOME", "").strip()
    try:
        home, config_dir = (Path(named).expanduser(),) * 2 if named else platform_dirs()
    except (OSError, RuntimeError):
        home = config_dir = Path(named)
    if home.is_absolute() and config_dir.is_absolute():
        return home, config_dir
    # Debian's name for the home of users without one: it is never there, so nothing lands in a surprising place.
    nowhere = Path("/nonexistent/quillback")
    if named and not named.startswith("~"):
        wrong = f"{named[:60]!r} is not an absolute path, so it would be elsewhere in each directory"
    else:
        wrong = "the user has no home directory here; set it to a directory that can be written"
    problems.append(f"QUILLBACK_HOME: {wrong}")
    return nowhere, nowhere
