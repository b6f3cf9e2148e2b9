"""The one reading of options: however an option is written, it is the same option."""

from pathlib import Path

import pytest

from quillback.inspectors.shell_matcher import Grammar, given, has, options, values
from quillback.inspectors.shell_option_tables import MAKING, RUNNING, WRITING, of_program, spread
from quillback.inspectors.shell_rules import allowed
from quillback.inspectors.shell_script import literal
from quillback.inspectors.shell_syntax import parse
from support.inspecting import table

TABLE = table(Path(__file__).with_name("commands.tsv"))
SORT = options(("-o", "--output", "--compress-program"), Grammar("kStT", frozenset({"--out"})))
GO = options(("-o", "-exec"), Grammar(words=True))


def words(line):
    return tuple(literal(word) for word in line.split())


def uses(line, wanted=SORT):
    return [(use.option, use.value and use.value.text) for use in given(words(line), wanted)]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("-o x", [("-o", "x")]),
        ("-ox", [("-o", "x")]),
        ("-uo x", [("-o", "x")]),
        ("-ruox y", [("-o", "x")]),
        ("-o=x", [("-o", "=x")]),
        ("--output x", [("--output", "x")]),
        ("--output=x", [("--output", "x")]),
        ("--o=x", [("--output", "x")]),
        ("--comp x", [("--compress-program", "x")]),
        ("a b -o x", [("-o", "x")]),
        ("-o x --c y", [("-o", "x"), ("--compress-program", "y")]),
        ("-o", [("-o", None)]),
        ("-k -- -ox", [("-o", "x")]),
    ],
)
def test_every_way_to_write_an_option_is_a_use_of_it(line, found):
    assert uses(line) == found


@pytest.mark.parametrize(
    "line", ["-ko", "-t, o", "-u f", "--out x", "--outputs x", "- o", "-- -o x", "f -- -o x", "-é-"]
)
def test_what_only_looks_like_it_is_none(line):
    assert uses(line) == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("-o x", [("-o", "x")]),
        ("-o=x", [("-o", "x")]),
        ("-exec x", [("-exec", "x")]),
        ("--exec=x", [("--exec", "x")]),
        ("-no-x -ox", []),
    ],
)
def test_programs_without_clusters(line, found):
    assert uses(line, GO) == found


def test_what_stands_after_an_option_is_kept():
    use = given(words("-u -o x y z"), SORT)[0]
    assert [w.text for w in use.after] == ["y", "z"]
    assert has(words("-uo x"), SORT)
    assert [w.text for w in values(words("-o x --output=y"), SORT)] == ["x", "y"]
    assert values(words("-o x"), options(())) == []


def test_a_home_directory_in_an_attached_value_is_one():
    value = given(words("--output=~/x"), SORT)[0].value
    assert value is not None
    assert (value.text, value.shape, value.home) == (None, "~/x", True)


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("xIf ./p a.tar", "-x -I ./p -f a.tar"),
        ("cf", "-c -f"),
        ("-xf a", "-xf a"),
        ("x.tar f", "x.tar f"),
        ("", ""),
    ],
)
def test_the_old_way_of_tar(line, plain):
    assert " ".join(w.shape for w in spread("tar", words(line))) == plain
    assert spread("ls", words(line)) == words(line)


def test_the_commands_of_git_share_options():
    assert "--ext-diff" in of_program(RUNNING, "git log").names
    assert "--ext-diff" in of_program(RUNNING, "git grep").names
    assert "--output" in of_program(WRITING, "git archive").names
    assert of_program(MAKING, "git log").names == ()
    assert of_program(RUNNING, "gsort").names == of_program(RUNNING, "sort").names


@pytest.mark.parametrize("section", [name for name in TABLE if "options that run programs" in name])
def test_no_rule_for_its_program_covers_an_option_that_runs_another(section):
    wrong = []
    for _, _, line in TABLE[section]:
        script = parse(line)
        rules = [f"{c.words[0].text}:*" for c in script.commands if c.words and c.words[0].text]
        if rules and allowed(script, rules):
            wrong.append(line)
    assert wrong == []


ORDINARY = [
    "git log -p",
    "git log -Sfoo -p",
    "git diff --exit-code",
    "git grep -in -e foo -- src",
    "git clone --depth 1 -b main https://h/x",
    "git fetch origin",
    "git bundle verify x.bundle",
    "tar czf build/x.tgz src",
    "tar -czf build/x.tgz --exclude=.git src",
    "tar tzf a.tgz",
    "tar xzf a.tgz",
    "tar --checkpoint=100 -cf a.tar b",
    "sort -u file",
    "sort -t, -k2,2n in.csv",
    "sed -n 1,5p f",
    "sed --quiet '/x/p' f",
    "sed 's|/usr/local|/opt|g' f",
    "awk '/\"/{print $1}' q",
    "awk '{s+=$1} END {print s/NR, (s/NR)/2}' f",
    "awk '$3 > 5 {print $1; n++} END {print n/2}' f",
    "make test",
    "make test V=1 -j8",
    "make CFLAGS='-O2 -g' all",
    "make PYTHON=.venv/bin/python test",
    "pytest -q",
    "pytest -q --junitxml=build/x.xml",
    "python -m pytest -q --cov=src",
    "python -m venv .venv",
    "node --test tests/",
    "node --import tsx x.ts",
    "node -r dotenv/config x.js",
    "perl -MList::Util=sum,max x.pl",
    "php -d memory_limit=-1 x.php",
    "ruby -rbundler/setup x.rb",
    "sqlite3 app.db '.tables'",
    "sqlite3 -header -csv app.db 'select * from t'",
    "rsync -a --backup a b",
    "split -l 100 big.txt part_",
    "fd -He py foo",
    "rg -e foo --pretty",
    "curl -fsSLO https://x.com/a",
    "curl --cookie x=1 https://x.com",
    "go test -coverprofile=cover.out ./...",
    "cargo build --target x86_64-unknown-linux-musl",
    "pip install --pre x",
    "cmake --install build",
    "zip -r out.zip src",
    "docker build --output build .",
    "npm run build -- --outDir dist",
]


@pytest.mark.parametrize("line", ORDINARY)
def test_a_rule_for_its_program_covers_ordinary_use(line):
    program = line.partition(" ")[0]
    assert allowed(parse(line), [f"{program}:*"])
