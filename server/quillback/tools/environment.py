"""The environment of commands: quiet programs, and none of the agent's own secrets."""

import os
from urllib.parse import quote

QUIET: dict[str, str] = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "MANPAGER": "cat",
    "GIT_PAGER": "cat",
    "EDITOR": "true",
    "VISUAL": "true",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "DEBIAN_FRONTEND": "noninteractive",
}
"""No colours, pagers, editors or questions: a command has nobody at its terminal."""

_PREFIXES = ("ANTHROPIC_", "OPENAI_", "AZURE_OPENAI_", "QUILLBACK_")
_PROVIDERS = (
    "CEREBRAS",
    "CLAUDE",
    "COHERE",
    "DEEPSEEK",
    "FIREWORKS",
    "GEMINI",
    "GOOGLE",
    "GROQ",
    "MISTRAL",
    "MOONSHOT",
    "OLLAMA",
    "OPENROUTER",
    "PERPLEXITY",
    "TOGETHER",
    "XAI",
    "ZAI",
)
_KEYS = frozenset({"CLAUDE_CODE_OAUTH_TOKEN", *(f"{name}_API_KEY" for name in _PROVIDERS)})
_SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL")
_SECRET_LENGTH = 12
_HELD_LENGTH = 8
_NEEDED = frozenset({"PATH", "HOME", "PWD", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG"})
"""Always passed: a key that is a common word must not make commands impossible."""


def held_back(name: str) -> bool:
    """Whether a variable is kept from commands: our own settings and the keys of model providers.

    All else is passed, keys of clouds and forges too: the user's commands need those, and a user who does not want it
    names them in `secret_env`.
    """
    upper = name.upper()
    return upper.startswith(_PREFIXES) or upper in _KEYS


def secret_values(secret: frozenset[str]) -> frozenset[str]:
    """The values of variables that are kept from commands and are secret by their name."""
    return _values(secret, _SECRET_LENGTH)


def _values(secret: frozenset[str], length: int) -> frozenset[str]:
    return frozenset(
        value
        for name, value in os.environ.items()
        if (name in secret or held_back(name))
        and any(word in name.upper() for word in _SECRET_WORDS)
        and len(value) >= length
    )


def command_environment(secret: frozenset[str]) -> dict[str, str]:
    """What a command gets: ours without what is held back, nor a variable that has a held-back key in its value."""
    values = _values(secret, _HELD_LENGTH)
    held = values | {quote(value, safe="", errors="surrogateescape") for value in values}

    def passes(name: str, value: str) -> bool:
        return name in _NEEDED or not any(key in value for key in held)

    passed = {n: v for n, v in os.environ.items() if not (n in secret or held_back(n)) and passes(n, v)}
    return passed | QUIET
