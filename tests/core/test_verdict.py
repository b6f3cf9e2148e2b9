from itertools import permutations

import pytest

from quillback.core.verdict import Allow, Ask, Deny, merge


@pytest.mark.parametrize(
    ("verdicts", "merged"),
    [
        ((), Ask("")),
        ((Allow(),), Allow()),
        ((Allow(), Allow()), Allow()),
        ((Allow(), Ask("a")), Ask("a")),
        ((Allow(), Ask("")), Ask("")),
        ((Ask("a"), Deny("d")), Deny("d")),
        ((Allow(), Ask("a"), Deny("d")), Deny("d")),
    ],
)
def test_the_strictest_wins_whatever_the_order(verdicts, merged):
    assert all(merge(order) == merged for order in permutations(verdicts))


def test_all_reasons_of_the_strictest_are_kept_in_order():
    assert merge([Ask("a"), Ask(""), Allow(), Ask("b")]) == Ask("a; b")
    assert merge([Deny("a"), Ask("x"), Deny("b")]) == Deny("a; b")


def test_verdicts_may_come_from_anything_that_can_be_gone_through():
    assert merge(v for v in (Allow(),)) == Allow()
