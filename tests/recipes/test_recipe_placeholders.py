"""`{{ key }}`: where it may stand, what comes in its place, and that a value is never more than a value."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quillback.recipes import placeholders

EVIL = ["a b", "$(echo ran)", "`echo ran`", "'; echo ran; '", '"', "\\", "a\nb", "*", "{{ other }}", "", "--flag", "#"]


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{{ a }} and {{a}}, {{\ta }}", "A and A, A"),
        ("{ a } {a} }} {", "{ a } {a} }} {"),
        ("\\{{ a }} {{ a }}", "{{ a }} A"),
        ("{{ b-c_1 }}", "{{ a }}"),
        ("none", "none"),
    ],
)
def test_what_is_replaced(text, filled):
    values = {"a": "A", "b-c_1": "{{ a }}"}
    assert list(placeholders.wrong(text, values)) == []
    assert placeholders.fill(text, values) == filled


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ x }}", "{{ x }} is no parameter; there are: a, b"),
        ("{{ a | upper }}", "{{ a | upper }} is no placeholder"),
        ("{{ a.b }}", "is no placeholder"),
        ("{{ a }", "is no placeholder"),
        ("{{\na }}", "is no placeholder"),
        ("{{}}", "is no placeholder; write {{ key }}, or \\{{ for braces"),
        ("{{{ a }}}", "is no placeholder"),
        ("{% if a %}{{ 1 }}", "{{ 1 }} is no placeholder"),
    ],
)
def test_what_is_wrong_with_others(text, said):
    (problem,) = placeholders.wrong(text, ["a", "b"])
    assert said in problem


def test_each_problem_is_told_once():
    assert len(list(placeholders.wrong("{{ x }} {{ x }} {{ y }}", []))) == 2
    assert "the recipe has no parameters" in next(placeholders.wrong("{{ x }}", []))


@pytest.mark.parametrize("value", EVIL)
@pytest.mark.parametrize(
    "command", ["printf %s {{ v }}", "printf %s a={{ v }}", 'printf "%s" "x"{{ v }}', "\\printf %s {{v}}"]
)
def test_in_a_command_a_value_is_one_word_whatever_it_holds(value, command):
    assert placeholders.wrong_in_command(command) == ""
    line = placeholders.fill_command(command, {"v": value})
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout == {"a=": "a=" + value, '"x"': "x" + value}.get(command.split("{{")[0][-3:].strip(), value)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("echo '{{ v }}'", "between quotes"),
        ('echo "{{ v }}"', "between quotes"),
        ('echo "it\'s {{ v }}"', "between quotes"),
        ('echo "a\\" {{ v }}"', "between quotes"),
        ("echo '\\' '{{ v }}'", "between quotes"),
        ("echo 1 # {{ v }}", "in a comment"),
        ("echo 1;# it's\necho '{{ v }}'", "between quotes"),
        ("`echo {{ v }}`", "cannot have `"),
        ("cat <<E\n{{ v }}\nE", "cannot have <<"),
        ("echo $'\\'' {{ v }}", "cannot have $'"),
    ],
)
def test_where_a_value_could_become_more_it_may_not_stand(command, said):
    assert said in placeholders.wrong_in_command(command)


@pytest.mark.parametrize(
    "command",
    [
        "echo 'a' {{ v }} \"b\"",
        "echo it\\'s {{ v }}",
        "echo a#b {{ v }}",
        "# it's a comment\necho {{ v }}",
        "echo '\\{{ stay }}' {{ v }}",
        "cat <<E\nno value\nE",
    ],
)
def test_where_it_may_stand(command):
    assert placeholders.wrong_in_command(command) == ""


REFUSED = """
test "$(printf %s "{{ v }}")" != none
echo "${X:-"{{ v }}"}"
"$(echo {{ v }})"
echo $(echo {{ v }})
diff <(echo {{ v }}) x
[[ {{ v }} -eq 3 ]]
if [[ {{ v }} ]]; then ls; fi
(( {{ v }} > 3 ))
test $(( {{ v }} + 1 )) = 2
echo "$((1+"{{ v }}"))"
echo {{ v }} $((X+1))
echo ${A[{{ v }}]}
echo ${X:0:{{ v }}}
[ -v {{ v }} ]
test -v {{ v }}
[ {{ v }} {{ w }} ]
test {{ v }} {{ w }}
[ -f x -a {{ v }} ]
printf -v {{ v }} x
printf "-v" {{ v }}
printf {{ v }} {{ w }} x
printf -- {{ v }}
let {{ v }}
declare {{ v }}
export A={{ v }}
read {{ v }}
mapfile {{ v }}
unset {{ v }}
trap {{ v }} EXIT
set -- {{ v }}
. {{ v }}
source {{ v }}
eval {{ v }}
\\eval {{ v }}
'eval' {{ v }}
e"va"l {{ v }}
! eval {{ v }}
time eval {{ v }}
command eval {{ v }}
builtin let {{ v }}
X=1 eval {{ v }}
until eval {{ v }}; do :; done
exec {{ v }}
{{ v }} x
$X {{ v }}
coproc {{ v }} x
sh {{ v }}
sh -c {{ v }}
/bin/sh -c {{ v }}
bash -o pipefail {{ v }} {{ w }}
env bash -ec {{ v }}
sudo sh -c {{ v }}
env {{ v }} ls
timeout {{ v }} {{ w }}
timeout -s KILL 5 sh -c {{ v }}
timeout 5 $C {{ v }}
find . -exec sh -c {{ v }} \\;
xargs sh -c {{ v }}
ssh host {{ v }}
python3 -c {{ v }}
python3.11 {{ v }} x
perl -e {{ v }}
perl -e 1 -e {{ v }}
perl -I lib {{ v }} {{ w }}
awk {{ v }} f
awk -v a=1 {{ v }} {{ w }}
gawk "BEGIN{"{{ v }}"}"
sed -e s/a/{{ v }}/ f
sed 1p {{ f }}
node -r m {{ v }}
make {{ v }}
X={{ v }} make
sqlite3 db {{ v }}
X={{ v }}
X={{ v }} :
X={{ v }}; test $X
A=({{ v }})
a[{{ v }}]=1 ls
PATH={{ v }} ls
LD_PRELOAD={{ v }} ls
for i in {{ v }}; do ls; done
case {{ v }} in a) ls;; esac
f() { echo {{ v }}; }
echo {{ v }} )
""".strip().splitlines()


@pytest.mark.parametrize("command", [*REFUSED, "ev\\\nal {{ v }}", "echo {{ v }}\r", "echo {{ v }} " + "|ls" * 501])
def test_where_a_value_could_be_evaluated_it_may_not_stand(command):
    assert placeholders.wrong_in_command(command)


def test_the_reason_says_what_to_do():
    told = placeholders.wrong_in_command("[[ {{ v }} -eq 3 ]]")
    assert "cannot have [[ in it" in told
    assert "VALUE={{ key }} sh script.sh" in told


TAKEN = """
! grep -rnw --include=*.py {{ v }} .
test -f {{ v }}
[ ! -d {{ v }} ]
[ -n {{ v }} ] && ls
test "$(git rev-parse HEAD)" = {{ v }}
test {{ v }} -eq 3
grep "${X:-a b}" {{ v }}
git diff --quiet {{ v }}..HEAD
cd {{ v }} && make
(cd {{ v }}; ls) | wc -l
{ grep {{ v }} f; }
if test -f {{ v }}; then echo {{ w }}; else exit 1; fi
cat < {{ v }} > {{ w }}
echo 1 2>{{ v }}
pytest {{ v }} 2>&1 | tail
VALUE={{ v }} sh script.sh
VALUE={{ v }} sh -c 'test "$VALUE" = x'
sh script.sh {{ v }}
sh -c 'grep "$1" f' sh {{ v }}
python3 -m pytest {{ v }}
awk '{print $1}' {{ v }}
sed -n 1p -- {{ v }}
find . -name {{ v }} -exec rm {} +
timeout 60 grep {{ v }} f
sudo ls {{ v }}
grep '[[:space:]]' {{ v }}
""".strip().splitlines()


@pytest.mark.parametrize("command", TAKEN)
def test_what_only_takes_a_word_is_not_refused(command):
    assert placeholders.wrong_in_command(command) == ""


SHOWING = (
    "printf %s {{ v }}",
    "VALUE={{ v }} sh -c 'printf %s \"$VALUE\"'",
    "sh -c 'printf %s \"$1\"' sh {{ v }}",
    "test -n x && printf '%s' {{ v }} | cat",
    "if test {{ v }} = {{ v }}; then printf %s {{ v }}; fi",
)
HOSTILE = st.lists(
    st.sampled_from([*"'\"\\$`(){}[]<>|&;#!~*?=- \t\n", "a[$(echo ran)]", "$(echo ran)", "-v", "{{ v }}", "ran", "é"]),
    max_size=12,
).map("".join)


@pytest.mark.parametrize("command", SHOWING)
@given(value=HOSTILE)
@settings(max_examples=40, deadline=None)
def test_the_command_sees_exactly_the_value(command, value):
    assert placeholders.wrong_in_command(command) == ""
    line = placeholders.fill_command(command, {"v": value})
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=True)
    assert done.stdout.decode() == value
    assert done.stderr == b""


def test_a_value_beside_other_text_stays_one_by_itself(tmp_path):
    line = placeholders.fill_command("A=1; printf '%s ' $A{{ v }} {{ n }}>out", {"v": "B", "n": "2"})
    subprocess.run(["bash", "-c", line], check=True, cwd=tmp_path)
    assert (tmp_path / "out").read_text() == "1B 2 "
