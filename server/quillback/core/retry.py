"""When a failed model request is tried again, and after how long. Pure: the caller waits and passes the jitter."""

from quillback.core.model import ProviderError

ATTEMPTS = 5
"""Tries in all, the first one included."""

_FIRST = 1.0
_LONGEST = 30.0
_LONGEST_ASKED = 60.0
_SPREAD = 0.25


def delay(attempt: int, error: ProviderError, jitter: float) -> float | None:
    """Seconds to wait after try number `attempt` (from 1) failed with `error`; None means give up.

    `jitter` is from 0 to 1 and lengthens the wait by up to a quarter. The provider's `retry_after` is a minimum;
    above 60 s it ends the tries, since the user should decide about such a wait.
    """
    if attempt >= ATTEMPTS or not error.failure.retryable:
        return None
    asked = error.retry_after or 0.0
    if asked > _LONGEST_ASKED:
        return None
    own = min(_LONGEST, _FIRST * 2.0 ** (attempt - 1))
    return max(asked, min(_LONGEST, own * (1 + _SPREAD * jitter)))


def give_up_message(error: ProviderError, tries: int = 1) -> str:
    """What the user is told once `delay` said None after `tries` tries."""
    said = error.message.rstrip()
    if not error.failure.retryable:
        return said
    if error.retry_after is not None and error.retry_after > _LONGEST_ASKED:
        return f"{said} The provider asks to wait {_duration(error.retry_after)}; send the prompt again after that."
    times = "after one try" if tries == 1 else f"after {tries} tries"
    return f"{said} Gave up {times}; send the prompt again to go on."


def _duration(seconds: float) -> str:
    """Rounded up, so that waiting as long as told is enough."""
    whole = int(-(-seconds // 1))
    if whole < 120:
        return f"{whole} seconds"
    if whole < 2 * 3600:
        return f"{-(-whole // 60)} minutes"
    return f"{-(-whole // 3600)} hours"
