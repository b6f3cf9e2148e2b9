"""What a host in an address stands for: this machine, its surroundings or the open network, however it is spelled."""

import re
import unicodedata
from enum import Enum
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import unquote, urlsplit

from attrs import frozen

Address = IPv4Address | IPv6Address


class Reach(Enum):
    """Where connections to a host go. A NAME must be resolved, and every address it has be checked again."""

    PUBLIC = "public"
    NAME = "name"
    LOOPBACK = "loopback"
    PRIVATE = "private"
    LINK_LOCAL = "link-local"
    METADATA = "metadata"
    MULTICAST = "multicast"
    RESERVED = "reserved"
    INVALID = "invalid"

    @property
    def internal(self) -> bool:
        """Whether it is no place on the open network; a NAME may turn out to be one."""
        return self not in (Reach.PUBLIC, Reach.NAME)


@frozen
class Target:
    """The host of a URL in its plain spelling: lower case, no dot at the end, addresses in their usual form."""

    scheme: str
    host: str
    port: int | None


_METADATA = frozenset(
    ip_address(a)
    for a in ("169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "192.0.0.192", "168.63.129.16")
) | {ip_address("fd00:ec2::254"), ip_address("fd00:ec2::23"), ip_address("fd20:ce::254")}
_METADATA_NAMES = ("metadata", "metadata.google.internal", "metadata.goog", "instance-data", "metadata.azure.internal")
_SHARED = ip_network("100.64.0.0/10")
_NAT64 = (ip_network("64:ff9b::/96"), ip_network("64:ff9b:1::/48"))
_IPV4_COMPATIBLE = ip_network("::/96")
_LOCAL_NAMES = ("localhost", "localhost.localdomain", "localhost6", "ip6-localhost", "ip6-loopback", "broadcasthost")
_LOCAL_SUFFIXES = (".localhost", ".localdomain")
_PRIVATE_SUFFIXES = (".local", ".internal", ".intranet", ".lan", ".home", ".corp", ".home.arpa", ".private", ".onion")
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
_HOST_NAME = re.compile(r"(?!-)[\w-]{1,63}(?<!-)(?:\.(?!-)[\w-]{1,63}(?<!-))*")
_BAD_IN_URL = re.compile(r"[\x00-\x20\x7f\\]|\s")


def check_address(host: str | Address) -> Reach:
    """Where `host` leads: a name, an address in any spelling a resolver takes, or an address object."""
    address = parse_address(host) if isinstance(host, str) else host
    if address is not None:
        return _reach(address)
    name = plain_host(str(host))
    if not name or not _HOST_NAME.fullmatch(name) or len(name) > 253:
        return Reach.INVALID
    if name in _METADATA_NAMES:
        return Reach.METADATA
    if name in _LOCAL_NAMES or name.endswith(_LOCAL_SUFFIXES):
        return Reach.LOOPBACK
    if "." not in name or name.endswith(_PRIVATE_SUFFIXES):
        return Reach.PRIVATE
    return Reach.INVALID if _NUMBER.fullmatch(name.rpartition(".")[2]) else Reach.NAME


def parse_address(host: str) -> Address | None:
    """The IP address that `host` spells: `127.1`, `2130706433`, `0x7f.1`, `0177.0.0.1`, `[::1]`, `fe80::1%eth0`."""
    name = plain_host(host)
    if ":" in name:
        try:
            return IPv6Address(name.partition("%")[0])
        except ValueError:
            return None
    return _loose_ipv4(name)


def plain_host(host: str) -> str:
    """`host` without brackets, escapes, odd characters for digits and dots, capitals and the dot at the end."""
    text = unicodedata.normalize("NFKC", unquote(host.strip())).replace("\u3002", ".").lower()
    text = text.removeprefix("[").removesuffix("]").replace("\u00ad", "").replace("\u200b", "")
    text = text.removesuffix(".")
    if text.isascii():
        return text
    try:
        return text.encode("idna").decode()
    except UnicodeError:
        return text


def split_url(url: str) -> Target | None:
    """The target of a URL; None where programs disagree about the host: blanks, control characters, backslashes."""
    if _BAD_IN_URL.search(url):
        return None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    authority = parts.netloc
    if not parts.scheme or not authority or authority.count("@") > 1 or "%" in authority.rpartition("@")[0]:
        return None
    name = plain_host(parts.hostname or "")
    address = parse_address(name)
    return Target(parts.scheme.lower(), str(address) if address else name, port) if name else None


def _loose_ipv4(text: str) -> IPv4Address | None:
    """As inet_aton reads it: one to four numbers, each decimal, octal or hexadecimal."""
    parts = text.split(".")
    if len(parts) > 4 or not all(_NUMBER.fullmatch(part) for part in parts):
        return None
    try:
        numbers = [_number(part) for part in parts]
    except ValueError:
        return None
    *heads, last = numbers
    if any(n > 255 for n in heads) or last >= 256 ** (4 - len(heads)):
        return None
    value = last
    for index, head in enumerate(heads):
        value += head << (8 * (3 - index))
    return IPv4Address(value)


def _number(text: str) -> int:
    if text.startswith("0x"):
        return int(text[2:] or "0", 16)
    return int(text, 8) if text.startswith("0") and len(text) > 1 else int(text)


def _reach(address: Address) -> Reach:
    inner = _inner(address) if isinstance(address, IPv6Address) else None
    if inner is not None:
        return _reach(inner)
    if address in _METADATA:
        return Reach.METADATA
    if address.is_loopback or address.is_unspecified or (address.version == 4 and int(address) >> 24 == 0):
        return Reach.LOOPBACK
    if address.is_link_local:
        return Reach.LINK_LOCAL
    if address.is_multicast:
        return Reach.MULTICAST
    if address.version == 4 and address in _SHARED:
        return Reach.PRIVATE
    if address.is_reserved or (address.version == 4 and int(address) == 0xFFFFFFFF):
        return Reach.RESERVED
    return Reach.PRIVATE if address.is_private or not address.is_global else Reach.PUBLIC


def _inner(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 one carries: mapped, compatible, NAT64, 6to4 or Teredo."""
    if address.ipv4_mapped:
        return address.ipv4_mapped
    if address.sixtofour:
        return address.sixtofour
    if address.teredo:
        return address.teredo[1]
    if any(address in network for network in _NAT64):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    if address in _IPV4_COMPATIBLE and int(address) > 0xFFFF:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return None
