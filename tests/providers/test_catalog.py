import datetime

import pytest

from quillback.core.message import Usage
from quillback.core.model import Price
from quillback.core.usage import cost
from quillback.providers.catalog import CATALOG_DATE, Catalog


def test_the_default_models_are_known_with_limits_and_prices():
    catalog = Catalog({})
    known = [m for m in catalog.all() if m.provider == "anthropic"]
    assert [m.id for m in known] == [
        "claude-fable-5-2",
        "claude-opus-5-5",
        "claude-sonnet-5-5",
        "claude-haiku-5-5",
    ]
    assert {(m.context_window, m.max_output, m.provider) for m in known} == {(1_000_000, 128_000, "anthropic")}
    assert catalog.get("claude-sonnet-5-5").price == Price(2.0, 10.0, 0.1, 2.5)
    assert all(m.price and m.thinking and m.images for m in known)
    assert datetime.date.fromisoformat(CATALOG_DATE)


def test_a_long_prompt_of_the_small_model_costs_more():
    haiku = Catalog({}).get("claude-haiku-5-5")
    assert cost(haiku, Usage(100_000, 1_000)) == pytest.approx(0.0105)
    assert cost(haiku, Usage(200_000, 1_000)) == pytest.approx(0.1025)


def test_models_whose_thinking_cannot_be_turned_off():
    always = {m.id for m in Catalog({}).all() if m.thinking_always}
    assert always == {"claude-fable-5-2", "claude-opus-5-5", "openai:gpt-6.2-sol"}


def test_an_unknown_model_gets_careful_guesses():
    model = Catalog({}).get("qwen-coder", "openai")
    assert (model.provider, model.name, model.price) == ("openai", "qwen-coder", None)
    assert (model.context_window, model.max_output, model.thinking) == (200_000, 32_000, False)


def test_config_corrects_known_models_and_adds_others():
    catalog = Catalog(
        {
            "claude-haiku-5-5": {"input_price": 1, "name": "Small"},
            "qwen": {"context_window": 32_768, "max_output": 8_000, "thinking": True, "images": False},
            "paid": {"input_price": 2.0, "output_price": 4, "provider": "openai"},
        }
    )
    haiku, qwen, paid = (catalog.get(m) for m in ("claude-haiku-5-5", "qwen", "paid"))
    assert (haiku.name, haiku.price, haiku.long_price) == ("Small", Price(1.0, 0.5, 0.01, 0.125), None)
    assert (qwen.context_window, qwen.max_output, qwen.thinking, qwen.images) == (32_768, 8_000, True, False)
    assert (paid.price, paid.provider) == (Price(2.0, 4.0, 0.2, 2.5), "openai")
    assert [m.id for m in catalog.all()][-2:] == ["qwen", "paid"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"window": 1}, 'models."m".window is not known; allowed are cache_read_price, cache_write_price, context_win'),
        ({"context_window": "big"}, "context_window must be a whole number of tokens, 1,000 or more, not 'big'"),
        ({"context_window": 200}, "context_window must be a whole number of tokens, 1,000 or more, not 200"),
        ({"max_output": 0}, "max_output must be a whole number"),
        ({"max_output": True}, "max_output must be a whole number"),
        ({"input_price": -1}, "input_price must be US dollars"),
        ({"input_price": float("nan")}, "input_price must be US dollars"),
        ({"input_price": 1}, "input_price and output_price are needed together"),
        ({"thinking": "no"}, "thinking must be true or false, not 'no'"),
        ({"name": " "}, "name must be a text that is not empty"),
        ({"provider": 3}, "provider must be anthropic or openai, not 3"),
    ],
)
def test_a_wrong_line_names_its_key_and_what_is_allowed(changes, words):
    (problem,) = Catalog({"m": changes}).problems
    assert words in str(problem)


def test_every_wrong_line_is_named_and_the_right_ones_count():
    wrong = {"thinking": "no", "images": False, "wndow": 1, "input_price": -1, "output_price": 2}
    catalog = Catalog({"m": wrong, "n": {"max_output": 0}})
    assert [p.where for p in catalog.problems] == [
        'models."m".thinking',
        'models."m".wndow',
        'models."m".input_price',
        'models."m"',
        'models."n".max_output',
    ]
    assert (catalog.get("m").images, catalog.get("m").thinking) == (False, False)
