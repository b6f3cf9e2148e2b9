"""The table of dangerous commands: what is looked for, how bad it is, and what the user and the model are told."""

from enum import Enum

from attrs import frozen

from quillback.inspectors import security_signs as signs
from quillback.inspectors import security_signs_network as network
from quillback.inspectors.security_own import runs_quillback, touches_own
from quillback.inspectors.security_scene import Scene, flags, verb
from quillback.inspectors.security_signs import Sign
from quillback.inspectors.shell_script import Command
from quillback.inspectors.shell_unwrap import PRIVILEGED


class Risk(Enum):
    """CRITICAL calls are denied, HIGH ones asked about; OWN ones each time, whatever the user once said."""

    CRITICAL = "critical"
    OWN = "own"
    HIGH = "high"


class Category(Enum):
    DESTRUCTION = "file system destruction"
    REMOTE_CODE = "remote code execution"
    EXFILTRATION = "exfiltration"
    SYSTEM = "system modification"
    PRIVILEGE = "privilege escalation"
    REVERSE_SHELL = "reverse shell"
    CREDENTIALS = "credentials"
    PERSISTENCE = "persistence"
    GIT = "git"
    OWN = "Quillback itself"


@frozen
class Pattern:
    """`reason` continues the sentence "it ..."."""

    category: Category
    risk: Risk
    reason: str
    sign: Sign


@frozen
class Hit:
    pattern: Pattern
    command: Command


def _privileged(scene: Scene, command: Command) -> bool:
    return command.name in PRIVILEGED


def _at_system(scene: Scene, command: Command) -> bool:
    name, texts = command.name or "", command.texts
    match name:
        case "sysctl":
            return flags(command, "wp") or any("=" in t for t in texts)
        case "mount":
            return bool(texts)
        case "date":
            return flags(command, "s", "--set")
        case "pacman":
            return any(t.startswith(("-S", "-R", "-U")) and t not in ("-Ss", "-Si", "-Sl") for t in texts)
        case "rpm":
            return flags(command, "iUeF", "--install", "--upgrade", "--erase")
        case "dpkg":
            return flags(command, "irP", "--install", "--remove", "--purge", "--configure")
        case "ip" | "route" | "ifconfig":
            return any(t in ("add", "del", "set", "flush", "up", "down", "change", "replace") for t in texts)
        case "history":
            return flags(command, "cdw")
        case "unset" | "export" | "set":
            return any(t.startswith("HIST") for t in texts) or texts == ("+o", "history")
        case "journalctl":
            return any(t.startswith(("--vacuum", "--rotate", "--flush")) for t in texts)
        case "defaults":
            return verb(command) in ("write", "delete", "import")
    return False


def _crontab(scene: Scene, command: Command) -> bool:
    return command.name == "crontab" and not flags(command, "l")


def _infrastructure(scene: Scene, command: Command) -> bool:
    name, texts = command.name or "", command.texts
    match name:
        case "terraform" | "tofu" | "pulumi" | "vagrant":
            return verb(command) in ("destroy", "down") or "-destroy" in texts
        case "kubectl" | "oc":
            return any(t in ("delete", "drain", "replace") for t in texts)
        case "aws" | "gcloud" | "az" | "gsutil":
            return any(t.startswith(("delete", "terminate", "rb", "rm")) for t in texts)
        case "docker" | "podman":
            return any(t in ("prune", "rmi") for t in texts) or texts[:2] == ("volume", "rm")
        case "redis-cli":
            return any(t.lower() in ("flushall", "flushdb", "shutdown") for t in texts)
    return name in ("dropdb", "dropuser")


_KEEPERS = (
    ("security", ("find-generic-password", "find-internet-password", "dump-keychain", "export")),
    ("secret-tool", ("lookup", "search")),
    ("pass", ("show", "cp")),
    ("gopass", ("show", "cp")),
    ("op", ("read", "item", "document")),
    ("vault", ("read", "kv", "token")),
    ("bw", ("get", "list", "export")),
)


def _asks_keeper(scene: Scene, command: Command) -> bool:
    name, texts = command.name or "", command.texts
    if any(name == keeper and verb(command) in verbs for keeper, verbs in _KEEPERS):
        return True
    if name in ("gpg", "gpg2"):
        return any(t.startswith("--export-secret") for t in texts)
    if name in ("gh", "gcloud", "heroku", "az"):
        return "auth" in texts and any("token" in t for t in texts)
    if name in ("kubectl", "oc"):
        return "get" in texts and any(t.startswith(("secret", "secrets")) for t in texts)
    return name == "git" and "credential" in texts[:2] and "fill" in texts


_D, _R, _X, _S = Category.DESTRUCTION, Category.REMOTE_CODE, Category.EXFILTRATION, Category.SYSTEM
_CRITICAL, _HIGH = Risk.CRITICAL, Risk.HIGH
_SERVICES = (
    "status show list-units list-unit-files list-timers list-sockets list-dependencies cat is-active is-enabled help"
)
_QUERIES = "list search show info depends rdepends policy query -v --version outdated deps which home config doctor"

NAMES_OURS = "names what belongs to Quillback itself"

PATTERNS = (
    Pattern(
        _D,
        _CRITICAL,
        "removes or rewrites a directory that the system or the user cannot do without",
        signs.removes_vital,
    ),
    Pattern(_D, _CRITICAL, "deletes what it finds in a directory that must not be lost", signs.removes_found),
    Pattern(_D, _CRITICAL, "has code that removes everything", network.removes_in_code),
    Pattern(_D, _CRITICAL, "formats or wipes a device", signs.formats_device),
    Pattern(_D, _CRITICAL, "starts itself without end (a fork bomb)", signs.fork_bomb),
    Pattern(_D, _CRITICAL, "ends every process", signs.kills_all),
    Pattern(_D, _HIGH, "works on disks or file systems", signs.disk_tool),
    Pattern(_D, _HIGH, "removes the whole workspace", signs.removes_root),
    Pattern(_D, _HIGH, "destroys what is kept on servers or in containers", _infrastructure),
    Pattern(_R, _CRITICAL, "runs code straight from the network", network.runs_fetched),
    Pattern(_R, _CRITICAL, "runs code that is hidden by an encoding", network.runs_decoded),
    Pattern(_R, _CRITICAL, "runs a file that it has just got from the network", network.runs_download),
    Pattern(_R, _CRITICAL, "has code that fetches and runs other code", network.fetches_in_code),
    Pattern(_R, _HIGH, "installs a package from an address", network.installs_from_address),
    Pattern(_R, _HIGH, "fetches a program and runs it", network.runs_package),
    Pattern(Category.REVERSE_SHELL, _CRITICAL, "connects a shell with the network", network.shell_on_network),
    Pattern(
        Category.REVERSE_SHELL, _CRITICAL, "has code that connects a shell with the network", network.connects_shell
    ),
    Pattern(Category.REVERSE_SHELL, _HIGH, "opens a network connection of its own", network.raw_network),
    Pattern(Category.REVERSE_SHELL, _HIGH, "lets others connect to this machine", network.listens),
    Pattern(
        Category.REVERSE_SHELL,
        _HIGH,
        "opens this machine to the network",
        signs.name_in("ngrok", "cloudflared", "bore", "chisel", "frpc", "localtunnel", "tmate", "sshuttle"),
    ),
    Pattern(_X, _CRITICAL, "sends keys or passwords away", network.sends_credentials),
    Pattern(_X, _CRITICAL, "sends the environment away", network.sends_environment),
    Pattern(_X, _HIGH, "sends files away", network.uploads),
    Pattern(_X, _HIGH, "publishes something", network.publishes),
    Pattern(Category.CREDENTIALS, _HIGH, "reads what looks like keys or passwords", network.reads_credentials),
    Pattern(Category.CREDENTIALS, _HIGH, "asks a keeper of passwords for them", _asks_keeper),
    Pattern(Category.PRIVILEGE, _HIGH, "runs with other rights", _privileged),
    Pattern(Category.PRIVILEGE, _HIGH, "lets a program run with other rights", signs.sets_id),
    Pattern(Category.PRIVILEGE, _HIGH, "gives a container rights over this machine", signs.breaks_out),
    Pattern(
        _S, _CRITICAL, "stops the machine", signs.name_in("shutdown", "reboot", "halt", "poweroff", "telinit", "init")
    ),
    Pattern(_S, _CRITICAL, "stops the machine", signs.with_verb("systemctl", "poweroff", "reboot", "halt", "kexec")),
    Pattern(
        _S,
        _HIGH,
        "changes services",
        signs.all_but_verbs("systemctl launchctl initctl rc-update", f"{_SERVICES} list print"),
    ),
    Pattern(_S, _HIGH, "changes services", signs.name_in("service", "chkconfig", "update-rc.d")),
    Pattern(
        _S,
        _HIGH,
        "changes the packages of the system",
        signs.all_but_verbs("apt apt-get dnf yum zypper apk brew snap flatpak port", _QUERIES),
    ),
    Pattern(_S, _HIGH, "changes the system", _at_system),
    Pattern(
        _S,
        _HIGH,
        "changes the system",
        signs.name_in(
            *("modprobe", "insmod", "rmmod", "kexec", "umount", "swapoff", "swapon", "losetup", "visudo", "chpasswd"),
            *("useradd", "userdel", "usermod", "adduser", "deluser", "groupadd", "groupmod", "passwd", "chsh", "vipw"),
            *("iptables", "ip6tables", "nft", "ufw", "firewall-cmd", "pfctl", "setenforce", "update-alternatives"),
            *("grub-install", "update-grub", "efibootmgr", "ldconfig", "hwclock", "auditctl", "chattr", "nvram"),
            *("csrutil", "spctl", "dscl", "networksetup", "reg", "bcdedit", "vssadmin", "netsh", "schtasks"),
        ),
    ),
    Pattern(Category.PERSISTENCE, _HIGH, "runs something later or again and again", _crontab),
    Pattern(Category.PERSISTENCE, _HIGH, "lets a key log in", signs.name_in("ssh-copy-id")),
    Pattern(Category.OWN, Risk.OWN, "runs Quillback itself, which may change what is allowed", runs_quillback),
    Pattern(Category.OWN, Risk.OWN, NAMES_OURS, touches_own),
    Pattern(Category.GIT, _HIGH, "changes how git is set up", signs.sets_git_up),
    Pattern(Category.GIT, _HIGH, "can lose work that git keeps", signs.loses_history),
)


def hits(scene: Scene) -> list[Hit]:
    """Every pattern that fits a command of the scene."""
    return [Hit(p, c) for c in scene.commands for p in PATTERNS if p.sign(scene, c)]
