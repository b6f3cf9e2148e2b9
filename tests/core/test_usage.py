import pytest
from attrs import evolve

from quillback.core.message import Usage
from quillback.core.model import Model, Price
from quillback.core.usage import cost, estimate

MODEL = Model("m", "p", "M", 200_000, 32_000, Price(input=2.0, output=10.0, cache_read=0.2, cache_write=2.5))
MILLION = Usage(1_000_000, 1_000_000, 1_000_000, 1_000_000)


def test_each_kind_of_token_has_its_price():
    assert cost(MODEL, MILLION) == pytest.approx(2.0 + 10.0 + 0.2 + 2.5)
    assert cost(MODEL, Usage(output_tokens=100)) == pytest.approx(0.001)


def test_a_model_without_a_price_costs_nothing():
    assert cost(evolve(MODEL, price=None), MILLION) == 0.0


@pytest.mark.parametrize(("cached", "expected"), [(90_000, 0.01), (90_001, 0.05)])
def test_a_long_prompt_has_its_own_price_and_cached_tokens_count(cached, expected):
    model = evolve(MODEL, price=Price(1, 0, 0, 0), long_prompt=100_000, long_price=Price(5, 0, 0, 0))
    assert cost(model, Usage(input_tokens=10_000, cache_read_tokens=cached)) == pytest.approx(expected)


def test_an_estimate_is_marked_and_rounded_up():
    assert estimate(9, 4) == Usage(input_tokens=3, output_tokens=1, estimated=True)
    assert estimate(0) == Usage(estimated=True)
