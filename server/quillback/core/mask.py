"""Hides keys in whatever is told to the model, to the editor, to the store and to the log.

Two kinds: the values that this process knows to be secret, and texts that have the shape of a well-known kind of key.
"""

import hashlib
import re
from collections.abc import Iterable

LEAST = 8
"""Characters of the shortest value that is hidden: shorter ones stand in too many harmless words."""

HELD = 512
"""Characters at the end of a growing text that may turn out to be a key."""

PRIVATE_KEY_LIMIT = 16 * 1024
"""Characters of the longest private key."""

_MASKED = re.compile(r"\[masked secret [0-9a-f]{4}\]")
_BEGIN = "-----BEGIN "
_PRIVATE = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_OPEN_PRIVATE = re.compile(r"-----BEGIN [A-Z0-9 -]*\Z")
_END = re.compile(r"-----END [A-Z0-9 ]{1,80}-----")
_REST = re.compile(r"(?:(?:\r?\n|\\n)(?:[^\r\n]{1,300}:[0-9]+: )?[ \t0-9]*[A-Za-z0-9+/=]{8,})*")
_SHAPES = {
    "sk-": (
        r"sk-ant-[\w-]{16,}",
        r"sk-(?:proj|svcacct|admin|or-v1|None)-[\w-]{20,}",
        r"(?<![A-Za-z0-9-])sk-[A-Za-z0-9]{32,}",
    ),
    **{f"gh{kind}_": (rf"gh{kind}_[A-Za-z0-9]{{30,}}",) for kind in "pousr"},
    "github_pat_": (r"github_pat_\w{30,}",),
    "glpat-": (r"glpat-[\w-]{20,}",),
    "AKIA": (r"AKIA[A-Z0-9]{16}(?![A-Za-z0-9])",),
    "ASIA": (r"ASIA[A-Z0-9]{16}(?![A-Za-z0-9])",),
    "xox": (r"xox[abeoprs]-[\w-]{20,}",),
    "AIza": (r"AIza[\w-]{35}",),
    "npm_": (r"npm_[A-Za-z0-9]{36}",),
    "pypi-": (r"pypi-[\w-]{50,}",),
    "hf_": (r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,}",),
    "sk_live_": (r"sk_live_[A-Za-z0-9]{20,}",),
    "rk_live_": (r"rk_live_[A-Za-z0-9]{20,}",),
    "xai-": (r"xai-[A-Za-z0-9]{40,}",),
    "gsk_": (r"gsk_[A-Za-z0-9]{40,}",),
}
"""What keys of the great services look like, by the characters that each begins with."""

_KINDS = tuple((sign, re.compile("|".join(shapes), re.ASCII)) for sign, shapes in _SHAPES.items())
_OPEN_SHAPE = re.compile(rf"(?:{'|'.join(_SHAPES)})[\w-]*\Z", re.ASCII)
_BEGINNINGS = (*_SHAPES, _BEGIN)


def masks_in(text: str) -> set[str]:
    """The masks that stand in `text`: who writes it into a file would destroy the secret there."""
    return set(_MASKED.findall(text)) if "[masked secret " in text else set()


class Mask:
    """What this process must not tell, and texts without it. Any thread may use it.

    A mask carries four digits that tell different secrets apart; `salt` keeps anyone from finding the secret by them.
    """

    def __init__(self, values: Iterable[str] = (), *, salt: bytes = b"") -> None:
        self._salt = salt
        self._values: tuple[str, ...] = ()
        self.add(values)

    def add(self, values: Iterable[str]) -> None:
        """These are secrets too, from now on; values that are too short are not."""
        known = {*self._values, *(value.strip() for value in values if len(value.strip()) >= LEAST)}
        self._values = tuple(sorted(known, key=lambda value: (-len(value), value)))

    def hide(self, text: str) -> str:
        """`text` with a mask in the place of each secret."""
        for value in self._values:
            if value in text:
                text = text.replace(value, self._masked(value))
        for sign, shape in _KINDS:
            if sign in text:
                text = shape.sub(lambda found: self._masked(found[0]), text)
        return self._without_private_keys(text) if _BEGIN in text else text

    def hide_growing(self, text: str) -> str:
        """The same for a text that goes on, or was cut: without the beginning of a secret at its end."""
        return self.hide(text[: self.settled(text, least=4)])

    def settled(self, text: str, *, least: int = 1) -> int:
        """How much of a growing text may be told: no secret begins there and goes on behind it.

        Beginnings shorter than `least` characters do not count.
        """
        end = len(text)
        begin = text.rfind(_BEGIN, max(0, end - PRIVATE_KEY_LIMIT))
        if begin >= 0 and _is_open(text, begin):
            end = begin
        if text.endswith("\n"):
            return end
        if shape := _OPEN_SHAPE.search(text, max(0, len(text) - HELD)):
            end = min(end, shape.start())
        return min([end, *(_beginning(text, secret, least) for secret in (*self._values, *_BEGINNINGS))])

    def _masked(self, secret: str) -> str:
        digest = hashlib.sha256(self._salt + secret.encode(errors="replace")).hexdigest()
        return f"[masked secret {digest[:4]}]"

    def _without_private_keys(self, text: str) -> str:
        pieces, last = [], 0
        for found in _PRIVATE.finditer(text):
            if found.start() < last:
                continue
            end = _END.search(text, found.end(), found.end() + PRIVATE_KEY_LIMIT)
            rest = end or _REST.match(text, found.end())
            beyond = rest.end() if rest else found.end()
            pieces += [text[last : found.start()], self._masked(text[found.start() : beyond])]
            last = beyond
        return "".join([*pieces, text[last:]])


def _is_open(text: str, begin: int) -> bool:
    """Whether a private key that begins here has no end yet."""
    head = _OPEN_PRIVATE.match(text, begin) or _PRIVATE.match(text, begin)
    return head is not None and _END.search(text, begin) is None


def _beginning(text: str, secret: str, least: int) -> int:
    """Where in `text` its end begins to be `secret`; its length if it does not."""
    at = text.find(secret[0], max(0, len(text) - len(secret) + 1))
    while 0 <= at <= len(text) - least:
        if text.endswith(secret[: len(text) - at]):
            return at
        at = text.find(secret[0], at + 1)
    return len(text)


class Veil:
    """Masks a text that comes in pieces; what may be the beginning of a secret is held back until it is clear."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._held = ""

    def feed(self, text: str, *, final: bool = False) -> str:
        """What can be told now; after `final` nothing is held back."""
        text = self._held + text
        cut = len(text) if final else self._mask.settled(text)
        self._held = text[cut:]
        return self._mask.hide(text[:cut])

    def peek(self, text: str) -> str:
        """What could be told if `text` came now; it is not taken."""
        return self._mask.hide_growing(self._held + text)
