"""What a refusal of a model service means: its kind, how long to wait, and words for the user."""

import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from socket import gaierror
from ssl import SSLError

from quillback.core.message import JsonObject
from quillback.core.model import Failure, ProviderError

_BY_STATUS = {
    401: Failure.AUTHENTICATION,
    402: Failure.PERMISSION,
    403: Failure.PERMISSION,
    404: Failure.NOT_FOUND,
    408: Failure.CONNECTION,
    409: Failure.SERVER,
    413: Failure.TOO_LARGE,
    429: Failure.RATE_LIMIT,
    529: Failure.OVERLOADED,
}
_BY_TYPE = {
    "api_error": Failure.SERVER,
    "authentication_error": Failure.AUTHENTICATION,
    "billing_error": Failure.PERMISSION,
    "invalid_request_error": Failure.INVALID,
    "not_found_error": Failure.NOT_FOUND,
    "overloaded_error": Failure.OVERLOADED,
    "permission_error": Failure.PERMISSION,
    "rate_limit_error": Failure.RATE_LIMIT,
    "request_too_large": Failure.TOO_LARGE,
    "timeout_error": Failure.SERVER,
    # those of chat completions, where servers put them into `type` or `code`
    "BadRequestError": Failure.INVALID,
    "context_length_exceeded": Failure.CONTEXT_LENGTH,
    "insufficient_quota": Failure.PERMISSION,
    "invalid_api_key": Failure.AUTHENTICATION,
    "model_not_found": Failure.NOT_FOUND,
    "rate_limit_exceeded": Failure.RATE_LIMIT,
}
_TELLING = frozenset({"context_length_exceeded", "insufficient_quota"})
"""Codes that say more than the status they come with."""
# The API names most of these in words only, and gateways put them under odd statuses (429 for a bad signature).
_KNOWN = (
    (
        Failure.BAD_THINKING,
        re.compile(
            r"(signature|data)`? in `?(redacted_)?thinking|thinking.{0,80}cannot be modified"
            r"|expected `?thinking|bound to a different",
            re.I | re.S,
        ),
    ),
    (
        Failure.CONTEXT_LENGTH,
        re.compile(
            r"(prompt|input|request|conversation) (\([^)]{0,40}\) )?is too long"
            r"|exceeds? (the )?(model's )?(available |maximum )?context"
            r"|context (length|window|size) .{0,40}exceed|exceed_context|maximum (context|prompt|model) length"
            r"|context the overflows|reached context length|too large for model with|input tokens exceed"
            r"|input token count.{0,40}exceeds|to keep from the initial prompt|reduce the length of the messages",
            re.I | re.S,
        ),
    ),
    (
        Failure.BAD_IMAGE,
        re.compile(
            r"image.{0,80}(exceed|too large|not supported|unsupported|invalid|dimension)"
            r"|(process|decode|unsupported|invalid|support) (the )?image|image_dimensions",
            re.I | re.S,
        ),
    ),
)
_RECOGNISED = frozenset({Failure.INVALID, Failure.TOO_LARGE, Failure.RATE_LIMIT, Failure.SERVER})

_TOO_LONG = "Start a new session, or take a model with a larger window (`quillback models`)."
_OTHER_KEY = "Check the key for this server: ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or config.toml."
"""That of `quillback login` is not sent to servers other than the maker's own."""
_ADVICE = {
    Failure.AUTHENTICATION: "Check the API key (ANTHROPIC_API_KEY, or run `quillback login`).",
    Failure.PERMISSION: "Check what the key may use, and the account's billing.",
    Failure.NOT_FOUND: "Check the model's name and the base URL.",
    Failure.TOO_LARGE: _TOO_LONG,
    Failure.CONTEXT_LENGTH: _TOO_LONG,
}


def from_status(
    status: int, host: str, error: JsonObject, headers: Mapping[str, str], now: datetime, key_advice: str = ""
) -> ProviderError:
    """An HTTP answer that is not a success. `error` is the body's error object; `headers` have lower-case names.

    `key_advice` says what to do about a key that was refused; it need not be given for the Messages API.
    """
    text = words(error)
    if 300 <= status < 400:
        where = headers.get("location", "another address")
        return ProviderError(Failure.INVALID, f"{host} redirects to {where}. Set that as the base URL.", status=status)
    failure = _BY_STATUS.get(status, Failure.SERVER if status >= 500 else Failure.INVALID)
    if status >= 500 and error.get("type") == "overloaded_error":
        failure = Failure.OVERLOADED
    code = error.get("code")
    if isinstance(code, str) and code in _TELLING:
        failure = _BY_TYPE[code]
    failure = _recognised(failure, error)
    if failure.retryable and headers.get("x-should-retry") == "false":
        failure = Failure.INVALID
    said = f"{host} answered {status}: {text}" if text else f"{host} answered {status}"
    message = _sentence(said, failure, host, key_advice)
    return ProviderError(failure, message, status=status, retry_after=retry_after(headers, now))


def from_event(host: str, payload: JsonObject, key_advice: str = "") -> ProviderError:
    """An error inside a stream that began well; its type or code says what it is, since the status was 200."""
    inner = payload.get("error")
    error: JsonObject = inner if isinstance(inner, Mapping) else {"message": inner or payload.get("message")}
    failure = _recognised(_by_word(error), error)
    text = words(error) or "no reason given"
    said = _sentence(f"{host} broke off the reply: {text}", failure, host, key_advice)
    return ProviderError(failure, said, status=200)


def error_object(body: object) -> JsonObject:
    """The error of an answer's body: an API's own shape, a bare one, or some other text."""
    if isinstance(body, Mapping):
        inner = body.get("error", body.get("detail"))
        if isinstance(inner, Mapping):
            return inner
        return {"message": inner} if isinstance(inner, str) else body
    text = str(body or "").strip()
    return {} if text.startswith("<") else {"message": text}  # an HTML page tells a user nothing


def from_transport(error: BaseException, host: str, address: str, seconds: float, *, began: bool) -> ProviderError:
    """What went wrong below HTTP. `began` says that some of the reply was there, `seconds` how long silence may be."""
    import httpx2

    match error:
        case httpx2.ReadTimeout():
            return ProviderError(Failure.IDLE, f"{host} sent nothing for {seconds:g} seconds.")
        case httpx2.HTTPError() if began:
            return ProviderError(Failure.INCOMPLETE, f"The connection to {host} was lost in mid-reply.")
        case httpx2.HTTPError() if not isinstance(error, httpx2.LocalProtocolError | httpx2.UnsupportedProtocol):
            return unreachable(address, error)
        case _:
            return ProviderError(Failure.INVALID, f"The request to {host} failed: {_reason(error)}.")


def unreachable(address: str, error: BaseException) -> ProviderError:
    """No connection came about; the reason is that of the system, which HTTP libraries hide in causes."""
    return ProviderError(
        Failure.CONNECTION, f"Cannot reach {address} ({_cause(error)}). Check the base URL and the network."
    )


def words(error: JsonObject) -> str:
    """The provider's own message with its type, bounded."""
    message, kind = error.get("message"), error.get("type")
    text = message.strip() if isinstance(message, str) else ""
    if (upstream := _upstream(error)) and upstream not in text:
        text = f"{text}: {upstream}" if text else upstream
    if isinstance(kind, str) and kind and kind.replace("_error", "") not in text.lower():
        text = f"{text} ({kind})" if text else kind
    return text if len(text) <= 2_000 else text[:2_000] + "…"


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds the provider asks to wait: `retry-after-ms`, or `retry-after` as seconds or as an HTTP date."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        if (seconds := _seconds(headers.get(name, ""), unit)) is not None:
            return seconds
    try:
        due = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    return max(0.0, ((due if due.tzinfo else due.replace(tzinfo=UTC)) - now).total_seconds())


def _cause(error: BaseException) -> str:
    said = str(error).strip().rstrip(".") or type(error).__name__
    if "timeout" in type(error).__name__.lower():
        return "no answer in time"
    found: BaseException | None = error
    while found is not None:
        match found:
            case BaseExceptionGroup(exceptions=[first, *_]):
                found = first
                continue
            case SSLError(reason=str(reason)) if reason:
                return f"{reason.replace('_', ' ').lower()}; {getattr(found, 'verify_message', '')}".rstrip("; ")
            case gaierror():
                return "the name of the host is not known"
            case OSError(errno=int(number)):
                return os.strerror(number).lower()
        found = found.__cause__ or found.__context__
    return said


def _seconds(text: str, unit: float) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value / unit if 0 <= value < float("inf") else None


def _recognised(failure: Failure, error: JsonObject) -> Failure:
    """The more telling kind that the message names, for refusals that a known reduction cures."""
    if failure not in _RECOGNISED:
        return failure
    details = error.get("details")
    code = details.get("error_code") if isinstance(details, Mapping) else ""
    text = f"{error.get('type', '')} {error.get('message', '')} {code} {_upstream(error)}"
    for kind, pattern in _KNOWN:
        if pattern.search(text):
            return kind
    return failure


def _by_word(error: JsonObject) -> Failure:
    kind, code = error.get("type"), error.get("code")
    for word in (code, kind):
        if isinstance(word, str) and word in _BY_TYPE:
            return _BY_TYPE[word]
    if isinstance(code, int) and 400 <= code < 500:
        return _BY_STATUS.get(code, Failure.INVALID)
    return Failure.SERVER


def _upstream(error: JsonObject) -> str:
    """What a gateway says that the service behind it said."""
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    return raw.strip() if isinstance(raw, str) else ""


def _reason(error: BaseException) -> str:
    text = str(error).strip().rstrip(".")
    return f"{text} ({type(error).__name__})" if text else type(error).__name__


def _sentence(text: str, failure: Failure, host: str, key_advice: str) -> str:
    text = text if text.endswith((".", "!", "?", "…")) else f"{text}."
    advice = _ADVICE.get(failure, "")
    if failure is Failure.AUTHENTICATION and key_advice:
        advice = key_advice
    elif failure is Failure.AUTHENTICATION and not f".{host}".endswith(".anthropic.com"):
        advice = _OTHER_KEY
    return f"{text} {advice}" if advice else text
