"""What is secret is masked, what only looks a little like it stays, and a growing text never tells half a key."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quillback.core.mask import Mask, Veil, masks_in
from support.keys import KEYS, PRIVATE_KEY

OWN = "my-own-value-0123"
MASK = Mask([OWN, "short", "with \"quotes\" and 'more'"])


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("around", ["{}", "KEY={}\n", '{{"key": "{}"}}', "https://user:{}@host/x", "a\n{}\nb"])
def test_keys_of_a_known_shape_are_masked(kind, around):
    hidden = MASK.hide(around.format(KEYS[kind]))
    (mask,) = masks_in(hidden)
    assert hidden == around.format(mask)


@pytest.mark.parametrize("ends", ["\n", "\\n", "\r\n"])
def test_private_keys_are_masked_whole(ends):
    hidden = MASK.hide(f"before\n{PRIVATE_KEY.replace(chr(10), ends)}\nafter")
    (mask,) = masks_in(hidden)
    assert hidden == f"before\n{mask}\nafter"


def test_a_private_key_without_its_end_is_masked_as_far_as_it_goes():
    cut = "\n".join(PRIVATE_KEY.split("\n")[:-1])
    (mask,) = masks_in(hidden := MASK.hide(f"{cut}\n\nother text"))
    assert hidden == f"{mask}\n\nother text"
    numbered = "\n".join(f"{n:>6}\t{line}" for n, line in enumerate(cut.split("\n"), 1))
    assert "MIIE" not in MASK.hide(numbered)


def test_what_the_process_knows_is_masked_anywhere_and_short_values_are_not():
    assert masks_in(MASK.hide(f"x{OWN}y")) == masks_in(MASK.hide(OWN))
    assert OWN not in MASK.hide(f"x{OWN}y{OWN}")
    assert MASK.hide("short") == "short"
    mask = Mask()
    assert mask.hide(OWN) == OWN
    mask.add([f" {OWN}\n"])
    assert masks_in(mask.hide(OWN))


def test_of_two_values_the_longer_one_is_masked():
    hidden = Mask(["abcdefgh", "abcdefghijkl"]).hide("abcdefghijkl abcdefgh")
    assert len(masks_in(hidden)) == 2
    assert hidden.replace(" ", "").count("[maskedsecret") == 2


def test_different_secrets_have_different_masks_that_depend_on_the_salt():
    one, other = KEYS["GitHub"], KEYS["GitHub"][:-1] + "Z"
    assert MASK.hide(one) != MASK.hide(other)
    assert len({Mask(salt=bytes([n])).hide(one) for n in range(8)}) > 1


@pytest.mark.parametrize(
    "text",
    [
        "a task-runner, a disk-full and sk-loading-spinner-of-the-start-page",
        "sk-ant-...",
        "sk-ant-your-key",
        "export GITHUB_TOKEN=ghp_...",
        "AKIA and ASIA are prefixes",
        "-----BEGIN CERTIFICATE-----\nMIIEowIBAAKCAQEA7bq0\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\nMIIEowIBAAKCAQEA7bq0\n-----END PUBLIC KEY-----",
        "npm_config_cache=/x npm_package_name_that_is_long_enough_to_be_a_key_of_npm",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    ],
)
def test_harmless_text_stays(text):
    assert MASK.hide(text) == text
    assert Veil(MASK).feed(text, final=True) == text


def test_json_stays_json():
    text = json.dumps({"env": {"A": OWN, "B": KEYS["Slack"]}, "pem": PRIVATE_KEY})
    assert set(json.loads(MASK.hide(text))) == {"env", "pem"}


@given(st.integers(0, 300), st.integers(0, 300), st.sampled_from([OWN, *KEYS.values(), PRIVATE_KEY]))
def test_a_key_that_comes_in_pieces_is_masked_in_whole(first, second, key):
    text = f"begin {key}\nend"
    first, second = sorted((first % (len(text) + 1), second % (len(text) + 1)))
    veil, told = Veil(MASK), ""
    for piece in (text[:first], text[first:second], text[second:]):
        told += veil.feed(piece)
        assert not _holds_part(told, key)
        assert not _holds_part(told + veil.peek(""), key)
    assert told + veil.feed("", final=True) == MASK.hide(text)


def _holds_part(text: str, key: str) -> bool:
    return any(key[: len(key) // 2] in line or line == key[:12] for line in text.split("\n"))


def test_what_cannot_become_a_key_is_not_held_back():
    veil = Veil(MASK)
    assert veil.feed("Continue? [y/n] ") == "Continue? [y/n] "
    assert veil.feed("a task") == "a task"[: MASK.settled("a task")]
    assert veil.feed("-force\n", final=False).endswith("-force\n")
    assert veil.feed("-----BEGIN CERTIFICATE-----\nMII") == "-----BEGIN CERTIFICATE-----\nMII"


def test_an_endless_key_does_not_fill_the_memory():
    veil = Veil(MASK)
    told = [len(veil.feed("sk-ant-aaaa" * 10)) for _ in range(100)]
    assert sum(told) > 0
    told = [len(veil.feed("\n-----BEGIN " + "PRIVATE KEY-----\n")), *(len(veil.feed("AAAA" * 100)) for _ in range(100))]
    assert len(veil.peek("")) < 70_000
    assert sum(told) > 0


def test_a_cut_text_does_not_end_in_half_a_key():
    key = KEYS["Anthropic"]
    for length in range(4, len(key)):
        assert MASK.hide_growing(f"x {key[:length]}").startswith("x ")
        assert key[:9] not in MASK.hide_growing(f"x {key[:length]}")
    assert MASK.hide_growing("a small mask") == "a small mask"
