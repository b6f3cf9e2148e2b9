"""Where the commands of a shell line connect to, as far as their words tell."""

import re
from collections.abc import Callable, Iterator

from quillback.inspectors.net_targets import parse_address, plain_host, split_url
from quillback.inspectors.shell_git import subcommand
from quillback.inspectors.shell_operands import operands_of, option_values
from quillback.inspectors.shell_options import Spec, parse
from quillback.inspectors.shell_script import UNKNOWN, Command, Script, Word

ANYWHERE = "?"
"""Stands for a destination that only an expansion will tell."""

_REST = r"[^\s\"'`<>|;,)\]}]*"
_URL = re.compile(rf"([a-z][a-z0-9+.-]*)://((?:\[[0-9a-f:.%]+\])?{_REST})", re.IGNORECASE)
_BUCKETS = frozenset({"s3", "s3a", "s3n", "gs", "az", "abfs", "abfss", "wasb", "wasbs", "b2", "oss", "cos"})
_LOCAL_SCHEMES = frozenset({"file", "unix", "data", "about", "chrome", "vscode", "git+file", "fd", "ext"})
_DEVICE = re.compile(r"/dev/(?:tcp|udp)/([^/]+)(?:/|$)")
_SCP = re.compile(r"(?:[\w.+-]+@)?(\[[0-9a-fA-F:]+\]|[\w.-]+):(?!//)")
_CURL = Spec(
    "0123456#:aA:b:Bc:C:d:D:e:E:fF:gGhH:iIjJkK:lLm:MnNo:Op:P:qQ:r:RsSt:T:u:U:vVw:x:X:Y:y:z:Z",
    "request= header= data= data-raw= data-binary= data-urlencode= form= output= user= user-agent= url= proxy= cookie= "
    "cookie-jar= connect-timeout= max-time= retry= resolve= connect-to= cacert= cert= key= upload-file= write-out= "
    "referer= range= config= interface= limit-rate= socks5= socks5-hostname= doh-url= json= output-dir= dump-header=",
)
_WGET = Spec(
    "bBa:A:cdD:e:EFhHi:I:kKlL:mnNo:O:pP:qQ:rR:sS:t:T:U:vVw:x",
    "output-document= output-file= directory-prefix= header= post-data= post-file= user= password= user-agent= "
    "timeout= tries= execute= input-file= level= accept= reject= domains= method= body-data= body-file=",
)
_SSH = Spec("1246AaCfGgKkMNnqsTtVvXxYyB:b:c:D:E:e:F:I:i:J:L:l:m:O:o:p:Q:R:S:W:w:")
# fmt: off
_HOST_OPTIONS = {
    "psql": ("-h", "--host"), "pg_dump": ("-h", "--host"), "mysql": ("-h", "--host"), "mysqldump": ("-h", "--host"),
    "redis-cli": ("-h",), "mongosh": ("--host",), "ldapsearch": ("-h",), "openssl": ("-connect", "-proxy"),
    "swaks": ("--server", "-s"), "git": (), "docker": ("-H", "--host"), "curl": (
        "-x", "--proxy", "--url", "--socks5", "--socks5-hostname", "--doh-url", "--preproxy"),
    "npm": ("--registry", "--proxy", "--https-proxy"), "pnpm": ("--registry",), "yarn": ("--registry",),
    "pip": ("-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--proxy", "--trusted-host"),
    "pip3": ("-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--proxy", "--trusted-host"),
    "uv": ("--index-url", "--extra-index-url", "--default-index", "--index", "-i"),
    "gem": ("-s", "--source", "--host", "--clear-sources"), "cargo": ("--registry", "--index"),
    "twine": ("--repository-url", "-r", "--repository"), "aws": ("--endpoint-url",),
    "kubectl": ("-s", "--server"), "helm": ("--repo",),
}
_FIRST_OPERAND = frozenset({
    "nc", "ncat", "netcat", "nc.traditional", "nc.openbsd", "telnet", "ftp", "tftp", "mosh", "ping", "ping6",
    "traceroute", "tracepath", "mtr", "nmap", "ssh-keyscan", "ssh-copy-id", "whois", "rdesktop", "vncviewer",
    "smbclient", "finger",
})
_LOOKUPS = frozenset({"dig", "nslookup", "host", "drill", "delv", "resolvectl", "getent"})
_FETCHING = frozenset({"http", "https", "xh", "httpie", "aria2c", "axel", "lynx", "w3m", "links", "elinks", "curlie"})
_REGISTRIES: dict[str, tuple[str, frozenset[str]]] = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), ("npm", frozenset(
        {"install", "i", "ci", "add", "update", "upgrade", "publish", "view", "audit", "outdated", "exec", "dlx"}))),
    **dict.fromkeys(("npx", "bunx"), ("npm", frozenset())),
    **dict.fromkeys(("pip", "pip3", "pipx"), ("pip", frozenset({"install", "download", "wheel", "run", "index"}))),
    **dict.fromkeys(("uvx", "twine"), ("pip", frozenset())),
    **dict.fromkeys(("poetry", "pdm", "uv", "hatch"), ("pip", frozenset(
        {"add", "install", "update", "lock", "sync", "publish", "pip", "tool"}))),
    "cargo": ("cargo", frozenset({"install", "add", "update", "publish", "search", "fetch"})),
    "gem": ("gem", frozenset({"install", "update", "push", "fetch", "search"})),
    "bundle": ("gem", frozenset({"install", "update"})),
    "go": ("go", frozenset({"get", "install", "mod"})),
    "composer": ("composer", frozenset({"install", "require", "update"})),
    **dict.fromkeys(("apt", "apt-get", "dnf", "yum", "apk", "brew", "pacman", "zypper", "snap", "flatpak"), (
        "system", frozenset({"install", "update", "upgrade", "add", "search", "-S", "-Sy", "-Syu"}))),
    "helm": ("helm", frozenset({"install", "upgrade", "pull", "repo"})),
}
_CLOUDS = {"aws": "cloud:aws", "gcloud": "cloud:gcp", "gsutil": "cloud:gcp", "az": "cloud:azure", "gh": "github.com",
           "kubectl": "cloud:kubernetes", "heroku": "cloud:heroku", "vercel": "cloud:vercel", "fly": "cloud:fly"}
# fmt: on


def script_destinations(script: Script) -> tuple[str, ...]:
    """The destinations of every command of a line, in order; of the bare text too where it is not understood."""
    found = [place for command in script.commands if not command.wrapper for place in _of_command(command)]
    if script.unresolved:
        found += text_destinations(script.line)
    return tuple(dict.fromkeys(found))


def text_destinations(text: str) -> Iterator[str]:
    """The destinations of the URLs in any text."""
    for found in _URL.finditer(text):
        scheme = found[1].lower()
        if not found[2]:
            continue
        if scheme in _BUCKETS:
            yield f"{scheme}://{found[2].partition('/')[0].lower()}"
        elif scheme.removeprefix("git+") not in _LOCAL_SCHEMES:
            target = split_url(found[0])
            yield target.host if target and UNKNOWN not in target.host else ANYWHERE
    for device in _DEVICE.finditer(text):
        yield host(device[1])


def host(text: str) -> str:
    """The plain spelling of a host with whatever stands around it: `user@HOST.:22/path`."""
    name = text.rpartition("@")[2]
    if not name.startswith("["):
        name = re.split(r"[/:?#]", name, maxsplit=1)[0] if name.count(":") < 2 else name
    name = plain_host(name.partition("]")[0])
    address = parse_address(name)
    return ANYWHERE if not name or UNKNOWN in name else str(address or name)


def _of_command(command: Command) -> Iterator[str]:
    words = [*command.args, *(r.target for r in command.redirects)]
    words += [a.value for a in command.assignments if a.value is not None]
    for word in words:
        yield from text_destinations(word.shape)
    name = command.name or ""
    for word in option_values(command.args, _HOST_OPTIONS.get(name, ())):
        if "://" not in word.shape:
            yield host(word.shape)
    handler = _HANDLERS.get(name)
    if handler is not None:
        yield from handler(command)
    yield from _registry(command)
    if name in _CLOUDS:
        yield _CLOUDS[name]


def _addresses(command: Command) -> Iterator[str]:
    """The operands of programs that take URLs, with or without a scheme."""
    spec = _CURL if command.name == "curl" else _WGET if command.name == "wget" else Spec()
    rest = list(command.args)
    while rest:
        parsed = parse(rest, spec)
        if not parsed.rest:
            return
        first, rest = parsed.rest[0], list(parsed.rest[1:])
        if "://" not in first.shape and (command.name in ("curl", "wget") or _looks_like_host(first)):
            yield host(first.shape)


def _looks_like_host(word: Word) -> bool:
    return re.match(r"(?:[\w-]+\.)+[a-z]{2,}(?:[:/]|$)|localhost\b|\d+\.\d+|:\d", word.shape) is not None


def _ssh(command: Command) -> Iterator[str]:
    parsed = parse(command.args, _SSH)
    if parsed.rest:
        yield host(parsed.rest[0].shape)
    for jump in parsed.values("-J"):
        yield from (host(part) for part in jump.shape.split(","))


def _copies(command: Command) -> Iterator[str]:
    for word in operands_of(command.args):
        found = _SCP.match(word.shape)
        if found and "/" not in word.shape[: found.end()]:
            yield host(found[1])
        elif command.name == "sftp" and "://" not in word.shape:
            yield host(word.shape)


def _git(command: Command) -> Iterator[str]:
    _, verb, words = subcommand(command)
    operands = operands_of(words)
    if verb in ("clone", "ls-remote", "fetch", "pull", "push"):
        operands = operands[:1]
    elif verb in ("remote", "submodule") and operands and operands[0].text in ("add", "set-url"):
        operands = operands[1:]
    elif verb in ("remote", "submodule") and operands and operands[0].text in ("update", "show", "prune"):
        operands = []
    else:
        return
    for word in operands:
        found = _SCP.match(word.shape)
        if found and "/" not in word.shape[: found.end()]:
            yield host(found[1])
        elif UNKNOWN in word.shape and "://" not in word.shape:
            yield ANYWHERE
        elif verb in ("fetch", "pull", "push") and re.fullmatch(r"[\w-]+", word.shape):
            yield f"git:{word.shape}"
    if not operands and verb != "clone":
        yield "git:origin"


def _first(command: Command) -> Iterator[str]:
    operands = [w for w in operands_of(command.args) if w.shape not in ("s_client", "ahosts", "hosts")]
    listening = any(re.match(r"-\w*l|--listen", w.shape) for w in command.args)
    if operands and not listening:
        yield host(operands[0].shape.lstrip("/"))


def _lookup(command: Command) -> Iterator[str]:
    for word in operands_of(command.args):
        name = word.shape.removeprefix("@")
        if "." in name or word.shape.startswith("@"):
            yield host(name)


def _socat(command: Command) -> Iterator[str]:
    for word in command.args:
        found = re.match(r"(?:TCP|UDP|SSL|OPENSSL|SCTP|SOCKS4A?|PROXY)\d?:([^:,]+)", word.shape, re.IGNORECASE)
        if found:
            yield host(found[1])


def _container(command: Command) -> Iterator[str]:
    texts = [w.shape for w in operands_of(command.args)]
    if texts[:1] and texts[0] in ("pull", "push", "run", "create", "login", "build", "search"):
        image = texts[1] if texts[0] in ("pull", "push", "login") and len(texts) > 1 else ""
        first = image.partition("/")[0]
        yield host(first) if "/" in image and re.search(r"[.:]|^localhost$", first) else "registry:docker"


def _rclone(command: Command) -> Iterator[str]:
    for word in operands_of(command.args)[1:]:
        name, colon, _ = word.shape.partition(":")
        if colon and "/" not in name:
            yield f"rclone:{name}"


def _registry(command: Command) -> Iterator[str]:
    known = _REGISTRIES.get(command.name or "")
    if known is None:
        return
    registry, verbs = known
    texts = [w.shape for w in command.args]
    if not verbs or any(t in verbs for t in texts[:2]) or (command.name == "yarn" and not texts):
        yield f"registry:{registry}"
    if command.name == "go":
        yield from (host(t.partition("@")[0]) for t in texts[1:] if re.match(r"[\w-]+(?:\.[\w-]+)+/", t))


_HANDLERS: dict[str, Callable[[Command], Iterator[str]]] = {
    **dict.fromkeys(("curl", "wget", *_FETCHING), _addresses),
    **dict.fromkeys(("ssh", "autossh"), _ssh),
    **dict.fromkeys(("scp", "rsync", "sftp"), _copies),
    **dict.fromkeys(_FIRST_OPERAND, _first),
    **dict.fromkeys(_LOOKUPS, _lookup),
    **dict.fromkeys(("docker", "podman", "nerdctl"), _container),
    "git": _git,
    "socat": _socat,
    "rclone": _rclone,
}
