"""The models that are known by name, with their limits and prices at a date; config can correct every line."""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve

from quillback.core.model import Model, Price

CATALOG_DATE = "2026-11-30"
OPENAI = "openai"
OPENAI_PREFIX = "openai:"
"""Stands before the names of models that are reached through chat completions."""
PROVIDERS = ("anthropic", OPENAI)

_WINDOW = 1_000_000
_OUTPUT = 128_000
_UNKNOWN_WINDOW = 200_000
_UNKNOWN_OUTPUT = 32_000


def _claude(model_id: str, name: str, price: Price, *, always: bool = False) -> Model:
    return Model(model_id, "anthropic", name, _WINDOW, _OUTPUT, price, thinking_always=always)


def _gpt(name: str, title: str, price: Price | None, **more: Any) -> Model:  # noqa: ANN401 - fields of Model
    """Above 272,000 tokens of a prompt everything but the output costs twice as much, the output half as much again."""
    long = price and Price(price.input * 2, price.output * 1.5, price.cache_read * 2, price.cache_write * 2)
    beyond = 272_000 if price else 0
    id_ = OPENAI_PREFIX + name
    return Model(id_, OPENAI, title, 1_050_000, _OUTPUT, price, long_prompt=beyond, long_price=long, **more)


# Cache writes are those of the five-minute cache, which is the one we ask for: 125 % of the input price.
_MODELS = (
    _claude("claude-fable-5-2", "Claude Fable 5.2", Price(8.0, 40.0, 0.20, 10.0), always=True),
    _claude("claude-opus-5-5", "Claude Opus 5.5", Price(4.0, 20.0, 0.20, 5.0), always=True),
    _claude("claude-sonnet-5-5", "Claude Sonnet 5.5", Price(2.0, 10.0, 0.10, 2.5)),
    evolve(
        _claude("claude-haiku-5-5", "Claude Haiku 5.5", Price(0.10, 0.50, 0.01, 0.125)),
        long_prompt=100_000,
        long_price=Price(0.50, 2.50, 0.05, 0.625),
    ),
    # Over chat completions GPT-6.2 takes no tools, so it writes its calls as text. The price of GPT-5.6 Sol was
    # promised until 2026-11-21 only, so none is given.
    _gpt("gpt-6.2-sol", "GPT-6.2 Sol", Price(2.0, 10.0, 0.10, 2.5), thinking_always=True, text_tools=True),
    _gpt("gpt-5.6-sol", "GPT-5.6 Sol", None),
    _gpt("gpt-5.6-terra", "GPT-5.6 Terra", Price(2.0, 12.0, 0.20, 2.5)),
    _gpt("gpt-5.6-luna", "GPT-5.6 Luna", Price(0.20, 1.20, 0.02, 0.25)),
)

_CACHE_READ_SHARE = 0.1
_CACHE_WRITE_SHARE = 1.25

_PRICES = {
    "input_price": "input",
    "output_price": "output",
    "cache_read_price": "cache_read",
    "cache_write_price": "cache_write",
}
WINDOW_LEAST = 1_000
"""Tokens of a context window. Nothing works with less; it is rather a slip of somebody who counts in thousands."""


class CatalogError(ValueError):
    """The text names the key and what is allowed; `where` is the key alone, as `models."ID".KEY` or `models."ID"`."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where} {what}")
        self.where = where


class Catalog:
    """`overrides` are the `[models."id"]` tables of the config; `problems` are all that is wrong with them, and what is
    wrong counts as not said."""

    def __init__(self, overrides: Mapping[str, Mapping[str, object]]) -> None:
        self._models = {model.id: model for model in _MODELS}
        self.problems: list[CatalogError] = []
        for model_id, changes in overrides.items():
            self._models[model_id] = _changed(self.get(model_id), changes, self.problems)

    def get(self, model_id: str, provider: str = "anthropic") -> Model:
        """The model, or careful guesses for an unknown id: small limits, no thinking, no price.

        An id with OPENAI_PREFIX is of that provider, whatever is given.
        """
        name = model_id.removeprefix(OPENAI_PREFIX)
        provider = provider if name == model_id else OPENAI
        guess = Model(model_id, provider, name, _UNKNOWN_WINDOW, _UNKNOWN_OUTPUT, thinking=False)
        return self._models.get(model_id, guess)

    def all(self) -> tuple[Model, ...]:
        """The known models, then those that config adds."""
        return tuple(self._models.values())


def _changed(model: Model, changes: Mapping[str, object], problems: list[CatalogError]) -> Model:
    where = f'models."{model.id}"'
    fields: dict[str, Any] = {}
    prices: dict[str, float] = {}
    for key, value in changes.items():
        try:
            if key in _PRICES:
                prices[_PRICES[key]] = _dollars(f"{where}.{key}", value)
            else:
                fields[key] = _parser(where, key)(f"{where}.{key}", value)
        except CatalogError as error:
            problems.append(error)
    if prices:
        try:
            fields |= {"price": _price(where, model.price, prices), "long_prompt": 0, "long_price": None}
        except CatalogError as error:
            problems.append(error)
    return evolve(model, **fields)


def _parser(where: str, key: str) -> Callable[[str, object], object]:
    if key in _PARSERS:
        return _PARSERS[key]
    raise CatalogError(f"{where}.{key}", f"is not known; allowed are {', '.join(sorted([*_PARSERS, *_PRICES]))}")


def _price(where: str, known: Price | None, given: Mapping[str, float]) -> Price:
    """What is not given stays as it was; for a new price the cache's prices follow from the input's."""
    if known is not None:
        return evolve(known, **given)
    if not {"input", "output"} <= given.keys():
        raise CatalogError(where, "has no price yet: input_price and output_price are needed together")
    derived = {"cache_read": given["input"] * _CACHE_READ_SHARE, "cache_write": given["input"] * _CACHE_WRITE_SHARE}
    return Price(**{**derived, **given})


def _window(where: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < WINDOW_LEAST:
        raise CatalogError(where, f"must be a whole number of tokens, {WINDOW_LEAST:,} or more, not {value!r}")
    return value


def _tokens(where: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise CatalogError(where, f"must be a whole number of tokens above 0, not {value!r}")
    return value


def _dollars(where: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise CatalogError(where, f"must be US dollars for a million tokens, 0 or more, not {value!r}")
    return float(value)


def _flag(where: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise CatalogError(where, f"must be true or false, not {value!r}")
    return value


def _provider(where: str, value: object) -> str:
    if value not in PROVIDERS:
        raise CatalogError(where, f"must be {' or '.join(PROVIDERS)}, not {value!r}")
    return str(value)


def _text(where: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise CatalogError(where, f"must be a text that is not empty, not {value!r}")
    return value


_PARSERS: dict[str, Callable[[str, object], object]] = {
    "context_window": _window,
    "max_output": _tokens,
    "thinking": _flag,
    "images": _flag,
    "text_tools": _flag,
    "name": _text,
    "provider": _provider,
}
