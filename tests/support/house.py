"""The rules of the house as functions: each takes a file's path and text and returns what is wrong with it.

Paths are relative to the top of the repository. `test_architecture.py` applies the rules to the tree,
`test_house_rules.py` shows for each that it can fail.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SERVER = "server/quillback/"
PROTOCOL = "protocol/quillback_protocol/"

# fmt: off
TOP_LEVEL = frozenset({
    "pyproject.toml", "README.md", "protocol", "server", "tests", "editors", "Makefile", "LICENSE",
    "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "requirements.lock", "uv.lock",
})
# fmt: on

# What each part of the server may import besides itself. A part is a package or a module of server/quillback;
# cli_x.py belongs to the part cli.
ANYTHING = None
CORE = frozenset({"core"})
PARTS: dict[str, frozenset[str] | None] = {
    "core": frozenset(),
    "session": CORE,
    "inspectors": CORE,
    "tools": CORE,
    "mcp": CORE,
    "providers": CORE,
    "store": CORE,
    "hooks": CORE,
    "documents": frozenset(),
    "commands": CORE | {"documents"},
    "recipes": CORE | {"documents"},
    "skills": CORE | {"documents"},
    "mock": frozenset(),
    "conformance": frozenset(),
    "edge": CORE | {"session"},
    "config": CORE,
    "trust": CORE | {"config", "documents", "hooks", "skills"},
    "project": CORE | {"hooks", "session", "trust"},
    "toolboxes": CORE | {"config", "mcp", "project", "session", "skills", "tools", "trust"},
    "credentials": CORE | {"config"},
    "models": CORE | {"config", "credentials", "providers"},
    "problems": CORE | {"config", "inspectors", "models"},
    "transcripts": CORE | {"app", "config", "edge", "session"},
    "cli": CORE
    | {
        "session",
        "config",
        "credentials",
        "models",
        "problems",
        "app",
        "serving",
        "edge",
        "project",
        "recipes",
        "trust",
        "conformance",
        "mock",
        "transcripts",
    },
    "app": ANYTHING,
    "serving": ANYTHING,
    "__main__": ANYTHING,
}

# Where a library may be imported; each prefix is below server/quillback.
OWNERS = {
    "anthropic": ("providers/anthropic",),
    "httpx2": ("providers/", "tools/", "mcp/"),
    "aiosqlite": ("store/",),
    "sqlite3": ("store/",),
    "mcp": ("mcp/",),
    "pygls": ("edge/lsp/",),
    "lsprotocol": ("edge/lsp/",),
    "keyring": ("credentials",),
    "platformdirs": ("config",),
    "rich": ("cli",),
    "yaml": ("recipes/", "documents/", "commands/", "skills/"),
    "markdown_it": ("cli",),
    "quillback_protocol": (
        "edge/",
        "cli",
        "app.py",
        "serving.py",
        "__main__.py",
        "conformance/",
        "mock/",
        "transcripts/",
    ),
}

# What a library is imported as, where that is not its name.
IMPORTED_AS = {"markdown_it": "markdown_it_py", "yaml": "pyyaml"}

PROTOCOL_LIBRARIES = frozenset({"attrs", "cattrs", "orjson"})

# fmt: off
IMPURE = frozenset({
    "asyncio", "concurrent", "contextvars", "datetime", "getpass", "glob", "http", "io", "locale", "logging", "mmap",
    "multiprocessing", "os", "pathlib", "platform", "pty", "queue", "random", "resource", "sched", "secrets",
    "select", "selectors", "shelve", "shutil", "signal", "site", "socket", "socketserver", "sqlite3", "ssl",
    "subprocess", "sys", "sysconfig", "tempfile", "termios", "threading", "time", "urllib", "uuid",
    "webbrowser", "_thread",
})
# fmt: on

FILE_LIMIT = 400
FUNCTION_LIMIT = 60
TIGHTER = {SERVER + "inspectors/chain.py": 60, SERVER + "session/driver.py": 200}

# Joined here so that this file does not break its own rules.
NOTES = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK")) + r")\b")
MACHINE = re.compile(
    "|".join(
        (
            r"(?<![\w.})~*-])/(?:home|Users)" + r"/[a-z][\w.-]*",
            r"(?<![\w.})~*-])/ro" + r"ot\b",
            r"(?<![\w.})~*-])/wo" + r"rk/",
            "pypi" + r"\.org/simple",
            "python" + "hosted",
            "registry" + r"\.npmjs",
            "deb" + r"\.debian",
        )
    )
)
INVARIANT = re.compile(r"^[-*\s]*Invariant:")
NAMED_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def tracked_files(root: Path) -> list[str]:
    """What git has or would add; without git, every file that is not a product of working here."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        done = subprocess.run(listing, cwd=root, capture_output=True, text=True, check=True)
        names = done.stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        names = [path.relative_to(root).as_posix() for path in root.rglob("*")]
    made = re.compile(r"(^|/)(\.git|\.venv|__pycache__|\.\w+_cache|\.hypothesis|node_modules|dist|build)/")
    return sorted(name for name in names if name and not made.search(name) and (root / name).is_file())


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and full name of all that is imported anywhere, names of modules in `import_module("x")` included."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                yield from ((node.lineno, f"{module}.{alias.name}") for alias in names)
            case ast.Call(
                func=ast.Name(id=name) | ast.Attribute(attr=name), args=[ast.Constant(value=str(module)), *_]
            ):
                if name in ("import_module", "__import__"):
                    yield node.lineno, module


def part_of(path: str) -> str:
    """The part of the server that a file below server/quillback belongs to; empty for the package's own file."""
    first = path.removeprefix(SERVER).split("/")[0].removesuffix(".py")
    if first == "__init__":
        return ""
    return first if first in PARTS else first.split("_")[0]


def unknown_part(path: str) -> list[str]:
    part = part_of(path)
    return [f"{path}: the part {part} is not in PARTS"] if part and part not in PARTS else []


def direction(path: str, text: str) -> list[str]:
    """Imports of one part of the server by another that may not see it."""
    allowed = PARTS.get(part_of(path), frozenset())
    if allowed is ANYTHING:
        return []
    wrong = []
    for line, name in imports(ast.parse(text)):
        names = name.split(".")
        target = part_of(names[1]) if names[0] == "quillback" and len(names) > 1 else ""
        if target in PARTS and target not in allowed | {part_of(path)}:
            wrong.append(f"{path}:{line}: {part_of(path) or 'the package'} imports quillback.{target}")
    return wrong


def confinement(path: str, text: str) -> list[str]:
    """Imports of a library outside the place it is confined to."""
    inside = path.removeprefix(SERVER)
    return [
        f"{path}:{line}: {name} belongs to {' '.join(OWNERS[library])} only"
        for line, name in imports(ast.parse(text))
        if (library := name.split(".")[0]) in OWNERS and not inside.startswith(OWNERS[library])
    ]


def undeclared(path: str, text: str, declared: frozenset[str]) -> list[str]:
    """Imports of libraries that pyproject.toml does not name as a dependency."""
    own = {"quillback", "quillback_protocol"}
    return [
        f"{path}:{line}: {name} is not a dependency in pyproject.toml"
        for line, name in imports(ast.parse(text))
        if (library := name.split(".")[0]) not in sys.stdlib_module_names
        and IMPORTED_AS.get(library, library) not in declared | own
    ]


def purity(path: str, text: str) -> list[str]:
    """Imports into core of anything but attrs, itself and the part of the standard library that touches nothing."""
    wrong = []
    for line, name in imports(ast.parse(text)):
        library = name.split(".")[0]
        pure = library in sys.stdlib_module_names - IMPURE or name.startswith(("pathlib.Pure", "urllib.parse"))
        if not pure and library not in ("attrs", "quillback"):
            wrong.append(f"{path}:{line}: core imports {name}")
    return wrong


def protocol_alone(path: str, text: str) -> list[str]:
    """Imports into the protocol package of the server or of more than its few libraries."""
    allowed = sys.stdlib_module_names | PROTOCOL_LIBRARIES | {"quillback_protocol"}
    return [
        f"{path}:{line}: the protocol imports {name}"
        for line, name in imports(ast.parse(text))
        if name.split(".")[0] not in allowed
    ]


def relative_imports(path: str, text: str) -> list[str]:
    return [
        f"{path}:{node.lineno}: relative import"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and node.level
    ]


def too_long(path: str, text: str) -> list[str]:
    """Files and functions over their hard limits."""
    lines = len(text.splitlines())
    limit = TIGHTER.get(path, FILE_LIMIT)
    wrong = [f"{path}: {lines} lines, the limit is {limit}"] if lines > limit else []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LIMIT:
                wrong.append(f"{path}:{node.lineno}: {node.name} has {length} lines, the limit is {FUNCTION_LIMIT}")
    return wrong


def no_docstring(path: str, text: str) -> list[str]:
    return [] if ast.get_docstring(ast.parse(text)) else [f"{path}: no module docstring"]


def notes_to_self(path: str, text: str) -> list[str]:
    return _matches(path, text, NOTES)


def machine_specific(path: str, text: str) -> list[str]:
    """Paths of one machine and hosts of package registries."""
    return _matches(path, text, MACHINE)


def _matches(path: str, text: str, pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path}:{number}: {found[0]}"
        for number, line in enumerate(text.splitlines(), 1)
        if (found := pattern.search(line))
    ]


def stray_entries(paths: list[str]) -> list[str]:
    """Top-level entries that the layout does not know."""
    entries = {path.split("/")[0] for path in paths}
    return sorted(entry for entry in entries if entry not in TOP_LEVEL and not entry.startswith("."))


def untested_invariants(text: str, root: Path) -> list[str]:
    """Invariant lines that name no test, or one that is not there."""
    wrong = []
    for number, line in enumerate(text.splitlines(), 1):
        if INVARIANT.match(line.replace("*", "")):
            named = NAMED_TEST.findall(line)
            missing = [f"{file}::{name}" for file, name in named if not _defines(root / file, name)]
            wrong += [f"line {number}: no test named"] if not named else [f"line {number}: no {x}" for x in missing]
    return wrong


def _defines(file: Path, name: str) -> bool:
    return file.is_file() and name in function_names(file.read_text(encoding="utf-8"))


def function_names(text: str) -> list[str]:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node.name for node in ast.walk(ast.parse(text)) if isinstance(node, functions)]
