import pytest

from quillback.core.model import Failure, ProviderError
from quillback.core.retry import ATTEMPTS, delay, give_up_message


def failed(failure: Failure, retry_after: float | None = None) -> ProviderError:
    return ProviderError(failure, "It failed.", retry_after=retry_after)


def test_waits_double_up_to_thirty_seconds():
    error = failed(Failure.OVERLOADED)
    assert [delay(n, error, 0.0) for n in range(1, ATTEMPTS)] == [1.0, 2.0, 4.0, 8.0]


def test_jitter_only_lengthens_and_by_a_quarter_at_most():
    error = failed(Failure.SERVER)
    assert delay(3, error, 0.5) == 4.5
    assert delay(3, error, 1.0) == 5.0


def test_there_are_five_tries_in_all():
    error = failed(Failure.CONNECTION)
    assert delay(4, error, 0.0) is not None
    assert delay(5, error, 0.0) is None


@pytest.mark.parametrize("asked", [0.0, 3.0, 60.0])
def test_retry_after_is_a_minimum(asked):
    assert delay(1, failed(Failure.RATE_LIMIT, asked), 1.0) == max(asked, 1.25)


def test_a_wait_of_more_than_a_minute_is_for_the_user_to_decide():
    error = failed(Failure.RATE_LIMIT, 3600)
    assert delay(1, error, 0.0) is None
    assert give_up_message(error) == (
        "It failed. The provider asks to wait 60 minutes; send the prompt again after that."
    )


@pytest.mark.parametrize(
    ("seconds", "words"), [(61.2, "62 seconds"), (121, "3 minutes"), (7200, "2 hours"), (9000, "3 hours")]
)
def test_the_wait_is_told_in_words_and_never_too_short(seconds, words):
    assert f"wait {words};" in give_up_message(failed(Failure.RATE_LIMIT, seconds))


@pytest.mark.parametrize("failure", [f for f in Failure if not f.retryable])
def test_what_would_fail_again_is_not_tried_again(failure):
    assert delay(1, failed(failure, 1.0), 0.0) is None
    assert give_up_message(failed(failure)) == "It failed."


def test_giving_up_names_the_tries():
    assert give_up_message(failed(Failure.IDLE), 5) == (
        "It failed. Gave up after 5 tries; send the prompt again to go on."
    )
    assert "after one try" in give_up_message(failed(Failure.IDLE))
