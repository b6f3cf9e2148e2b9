import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quillback.mcp.naming import prefixes, tool_name

FIT = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def test_plain_names_stay_as_they_are():
    assert prefixes(["git", "files"]) == ("git", "files")
    assert tool_name("git", "commit") == "git_commit"


@pytest.mark.parametrize("tool", ["a.b", "a/b", "a b", "größe", "検索", "x" * 90, "a\ud800"])
def test_odd_names_fit_and_tell_apart(tool):
    name = tool_name("srv", tool)
    assert FIT.fullmatch(name)
    assert name != tool_name("srv", tool + ".")


def test_names_that_look_alike_differ_and_stay_recognisable():
    names = {tool_name("srv", tool) for tool in ("a.b", "a/b", "a b", "a_b")}
    assert len(names) == 4
    assert all(name.startswith("srv_a_b") for name in names)


def test_a_long_server_name_leaves_room_for_the_tool():
    (prefix,) = prefixes(["s" * 80])
    assert "_search_files_" in tool_name(prefix, "search_files")


def test_reserved_names_are_left_to_their_owners():
    assert tool_name("read", "file", {"read_file"}) not in {"read_file", tool_name("read", "file")}


@pytest.mark.parametrize(
    "servers",
    [["fs", "fs"], ["git", "git_hub"], ["git_hub", "git"], ["a b", "a/b", "a_b"], ["", "", "日本"], ["a", "a_", "a__"]],
)
def test_prefixes_are_never_the_beginning_of_each_other(servers):
    made = prefixes(servers)
    assert len(set(made)) == len(servers)
    assert not [(a, b) for a in made for b in made if a != b and f"{b}_".startswith(f"{a}_")]


TEXTS = st.text(alphabet=st.sampled_from("ab_-./ äx日"), min_size=0, max_size=70)


@given(st.lists(TEXTS, min_size=1, max_size=4), st.lists(TEXTS.filter(bool), min_size=1, max_size=5, unique=True))
def test_names_are_unique_and_fit(servers, tools):
    names = [tool_name(prefix, tool) for prefix in prefixes(servers) for tool in tools]
    assert len(set(names)) == len(names)
    assert all(FIT.fullmatch(name) for name in names)
