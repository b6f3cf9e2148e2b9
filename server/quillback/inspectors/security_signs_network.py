"""Signs of danger that comes from the network or goes there: questions about one command, with yes or no."""

import re

from quillback.inspectors import shell_operands
from quillback.inspectors.security_scene import Scene, flags, verb
from quillback.inspectors.security_signs import Sign
from quillback.inspectors.shell_script import UNKNOWN, Command, Word

# fmt: off
FETCHERS = frozenset({
    "curl", "wget", "fetch", "aria2c", "axel", "lynx", "w3m", "links", "elinks", "http", "https", "xh", "httpie", "ftp",
    "tftp", "curlie", "Invoke-WebRequest", "iwr", "GET",
})
DECODERS = frozenset({"base64", "base32", "basenc", "xxd", "openssl", "uudecode", "gpg", "rev"})
NETCATS = frozenset({"nc", "ncat", "netcat", "nc.traditional", "nc.openbsd", "telnet", "socat", "openssl", "cryptcat"})
SENDERS = FETCHERS | NETCATS | {
    "scp", "rsync", "sftp", "ssh", "mail", "mailx", "mutt", "sendmail", "swaks", "dig", "nslookup", "host", "ping",
    "aws", "gsutil", "gcloud", "az", "rclone", "s3cmd", "gh", "git", "croc", "wormhole", "magic-wormhole", "logger",
}
RUNS_TEXT = frozenset({"eval", ".", "source"})
# fmt: on
_RM_IN_CODE = re.compile(
    r"\brm\s+(?:-[\w-]+\s+)*-\w*[rR]\w*\s+(?:-[\w-]+\s+)*[\"']?(?:/|~|\$HOME)(?:\*|[\"'\s;)]|$)"
    r"|rmtree\(\s*[\"'](?:/|~)[\"']|rm_rf\(?\s*[\"']/[\"']|rmSync\(\s*[\"']/[\"']"
)
_SHELL_IN_CODE = re.compile(r"/bin/(?:ba|da|z|k)?sh|dup2|pty\.spawn|\bexec\b|\bspawn\b|subprocess|popen|\$_GET", re.I)
_SOCKET_IN_CODE = re.compile(r"socket|[\"']net[\"']|fsockopen|net\.connect|createConnection|TCPClient", re.I)
_FETCH_IN_CODE = re.compile(
    r"urlopen|urllib|requests\.get|httpx|http\.get|fetch\(|open-uri|LWP::|file_get_contents\(.http", re.I
)
_RUN_IN_CODE = re.compile(r"\b(?:exec|eval|system|popen|Function|IEX|Invoke-Expression)\b\s*[\(`(]", re.I)


# ---------------------------------------------------------------- code from elsewhere


def _code_sources(scene: Scene, command: Command) -> set[str]:
    """The programs whose output a shell or an interpreter runs as code."""
    found: set[str] = set()
    if command.words and command.name is None:
        found.update(command.words[0].inner)
    if command.name in RUNS_TEXT:
        found.update(name for w in command.args for name in w.inner)
    entry = scene.entry(command)
    if entry is None:
        return found
    if entry.kind == "stdin":
        found.update(command.upstream)
        found.update(name for r in command.redirects if r.feeds for name in r.target.inner)
    elif entry.word is not None and entry.kind in ("code", "file", "unknown"):
        found.update(entry.word.inner)
    if "xargs" in command.via and (entry.word is None or entry.word.text is None):
        found.update(command.upstream)
    return found


def runs_fetched(scene: Scene, command: Command) -> bool:
    return not FETCHERS.isdisjoint(_code_sources(scene, command))


def runs_decoded(scene: Scene, command: Command) -> bool:
    return not DECODERS.isdisjoint(_code_sources(scene, command))


def runs_download(scene: Scene, command: Command) -> bool:
    """A file that the same line got from the network."""
    entry = scene.entry(command)
    started = [entry.word] if entry and entry.kind == "file" and entry.word else []
    started += command.args[:1] if command.name in (".", "source") else []
    started += command.words[:1] if command.words and "/" in command.words[0].shape else []
    names = {w.shape.rpartition("/")[2] for w in started if UNKNOWN not in w.shape}
    return bool(names) and not names.isdisjoint(_downloads(scene))


def _downloads(scene: Scene) -> set[str]:
    words: list[Word] = []
    for command in scene.commands:
        if command.name in FETCHERS or not FETCHERS.isdisjoint(command.upstream):
            words += shell_operands.written(command)
            words += [r.target for r in command.redirects if r.writes]
        if command.name in FETCHERS and (command.name == "wget" or flags(command, "O", "--remote-name")):
            words += [w for w in command.args if "/" in w.shape]
    return {w.shape.rstrip("/").rpartition("/")[2] for w in words} - {"", "-", "null"}


def installs_from_address(scene: Scene, command: Command) -> bool:
    installers = ("pip", "pip3", "pipx", "npm", "pnpm", "yarn", "bun", "gem", "cargo", "go", "uv", "python", "python3")
    if command.name not in installers or not any(t in ("install", "add", "i", "get") for t in command.texts):
        return False
    return any(re.match(r"(?:git\+|https?:|git:|ssh:|github:|git@)|--git\b", text) for text in command.texts)


def runs_package(scene: Scene, command: Command) -> bool:
    """Programs fetched from a registry and run at once."""
    texts = command.texts
    match command.name:
        case "npx" | "bunx":
            return any(t in ("-y", "--yes", "-p", "--package") or re.search(r".@|:", t) for t in texts[:3])
        case "uvx" | "pkgx":
            return bool(texts)
        case "pipx" | "uv":
            return (verb(command) == "run" and command.name == "pipx") or texts[:2] == ("tool", "run")
        case "pnpm" | "yarn":
            return verb(command) == "dlx"
        case "go":
            return verb(command) == "run" and any("@" in t for t in texts)
        case "deno":
            return verb(command) in ("run", "install") and any("://" in t for t in texts)
    return False


_TAKE_CODE = frozenset(
    {"awk", "gawk", "mawk", "nawk", "sed", "vim", "vi", "nvim", "ex", "ed", "sqlite3", "psql", "gdb", "tmux", "screen"}
)


def code_text(*expressions: re.Pattern[str]) -> Sign:
    """Code for an interpreter in which all of the expressions are found."""

    def sign(scene: Scene, command: Command) -> bool:
        entry = scene.entry(command)
        if command.name not in _TAKE_CODE and (entry is None or entry.kind not in ("code", "stdin")):
            return False
        texts = [*command.texts, *(r.target.shape for r in command.redirects if r.gives_text)]
        text = "\n".join(texts)
        return all(e.search(text) for e in expressions)

    return sign


removes_in_code = code_text(_RM_IN_CODE)
connects_shell = code_text(_SOCKET_IN_CODE, _SHELL_IN_CODE)
fetches_in_code = code_text(_FETCH_IN_CODE, _RUN_IN_CODE)


# ---------------------------------------------------------------- reverse shells


def _opens_network(command: Command) -> bool:
    return any(r.target.shape.startswith(("/dev/tcp/", "/dev/udp/")) for r in command.redirects)


def shell_on_network(scene: Scene, command: Command) -> bool:
    entry = scene.entry(command)
    fed = not NETCATS.isdisjoint(set(command.upstream) - {"openssl"})
    if entry is not None and entry.kind in ("stdin", "file") and (fed or _opens_network(command)):
        return True
    if command.name in NETCATS and _sends(command) and any(_is_shell(name) for name in command.upstream):
        return True
    executes = {"nc": "ec", "ncat": "ec", "netcat": "ec", "nc.traditional": "ec", "cryptcat": "e"}.get(
        command.name or ""
    )
    if executes and flags(command, executes, "--exec", "--sh-exec", "--lua-exec"):
        return True
    return command.name == "socat" and any(re.match(r"(?:EXEC|SYSTEM|SHELL)\b", t, re.I) for t in command.texts)


def _is_shell(name: str) -> bool:
    return name in ("sh", "bash", "zsh", "dash", "ksh")


def raw_network(scene: Scene, command: Command) -> bool:
    return _opens_network(command)


def listens(scene: Scene, command: Command) -> bool:
    if command.name in ("nc", "ncat", "netcat", "nc.traditional", "nc.openbsd"):
        return flags(command, "l", "--listen")
    if command.name == "socat":
        return any(re.match(r"(?:TCP|UDP|SSL|OPENSSL)\d?-L", t, re.I) for t in command.texts)
    return command.name in ("ssh", "autossh") and any(re.match(r"-\w*[RDw]", t) for t in command.texts)


# ---------------------------------------------------------------- data that leaves


def reads_credentials(scene: Scene, command: Command) -> bool:
    return not command.wrapper and any(scene.credential(command, w) for w in shell_operands.read(command))


def _sends(command: Command) -> bool:
    if command.name == "openssl":
        return "s_client" in command.texts
    return command.name in SENDERS and not command.wrapper


def sends_credentials(scene: Scene, command: Command) -> bool:
    if not _sends(command):
        return False
    given = shell_operands.sent(command)
    if any(scene.credential(command, w) for w in given):
        return True
    readers = {c.name for c in scene.commands if c is not command and reads_credentials(scene, c)}
    inner = {name for w in command.args for name in w.inner}
    if readers & (set(command.upstream) | inner):
        return True
    holes = any(UNKNOWN in w.shape for w in command.args)
    return bool(readers) and holes


def sends_environment(scene: Scene, command: Command) -> bool:
    dumps = {"env", "printenv", "export", "declare"}
    inner = {name for w in command.args for name in w.inner}
    return _sends(command) and bool(dumps & (set(command.upstream) | inner))


def uploads(scene: Scene, command: Command) -> bool:
    texts = command.texts
    match command.name:
        case "curl" | "curlie":
            sends = flags(command, "T", "--upload-file") or any(
                re.match(r"(?:-[dF]|--(?:data|form)[\w-]*=)?[\w.]*=?@", t) for t in texts
            )
            return sends
        case "wget":
            return any(t.startswith(("--post-file", "--body-file")) for t in texts)
        case "scp" | "rsync" | "sftp":
            operands = shell_operands.operands_of(command.args)
            return bool(operands) and shell_operands.is_remote(operands[-1])
        case "nc" | "ncat" | "netcat":
            return bool(command.upstream) or any(r.feeds for r in command.redirects)
        case "aws" | "gsutil" | "s3cmd":
            return any(t in ("cp", "mv", "sync", "put") for t in texts) and bool(re.match(r"(?:s3|gs)://", texts[-1]))
        case "rclone":
            return verb(command) in ("copy", "sync", "move", "copyto", "rcat")
        case "gh":
            return texts[:2] in (("gist", "create"), ("secret", "set"))
        case "mail" | "mailx" | "mutt" | "sendmail" | "croc" | "wormhole" | "magic-wormhole":
            return True
    return False


def publishes(scene: Scene, command: Command) -> bool:
    by_verb = {
        "npm": "publish",
        "pnpm": "publish",
        "yarn": "publish",
        "cargo": "publish",
        "twine": "upload",
        "gem": "push",
        "docker": "push",
        "podman": "push",
        "poetry": "publish",
        "uv": "publish",
        "hatch": "publish",
        "flit": "publish",
    }
    return verb(command) == by_verb.get(command.name or "", "-")
