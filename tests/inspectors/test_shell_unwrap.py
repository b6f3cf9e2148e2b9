"""Commands in commands: what wrappers run, and what cannot be told."""

import pytest

from quillback.inspectors.shell_syntax import parse

RUNS_RM = [
    "env rm x",
    "env -i -u C A=b rm x",
    "env -S 'rm x'",
    "timeout 5 rm x",
    "timeout -k 1 -s KILL 5 rm x",
    "timeout --signal=KILL 5 rm x",
    "nohup rm x",
    "nice rm x",
    "nice -n 5 rm x",
    "nice -10 rm x",
    "ionice -c2 -n7 rm x",
    "time rm x",
    "time -p rm x",
    "stdbuf -o0 -e L rm x",
    "setsid -w rm x",
    "command rm x",
    "builtin command rm x",
    "exec -a y rm x",
    "coproc rm x",
    "busybox rm x",
    "xargs -n1 -P 4 rm x",
    "xargs -I{} rm x {}",
    "find . -name y -exec rm x {} +",
    "find . -okdir rm x \\;",
    "sh -c 'rm x'",
    "bash -lc 'rm x'",
    "bash -e -o pipefail -c 'rm x'",
    "zsh -c 'rm x' a b",
    "bash +x -c 'rm x'",
    "eval rm x",
    "eval 'rm' x",
    "trap 'rm x' EXIT",
    "alias ls='rm x'",
    "watch -n 2 rm x",
    "bash <<< 'rm x'",
    "bash <<'E'\nrm x\nE",
    "sh -s <<'E'\nrm x\nE",
    "git bisect run rm x",
    "git submodule foreach 'rm x'",
    "uv run rm x",
    "uv run --with y rm x",
    "bundle exec rm x",
    "npm exec -- rm x",
    "flock y -c 'rm x'",
    "script -qc 'rm x' y",
    "strace -f -o y rm x",
    "unshare -r rm x",
    "sh -c \"bash -c 'env rm x'\"",
    "time env timeout 5 nice nohup sh -c 'exec rm x'",
    "{ timeout 5 env rm x; } < y",
    "/usr/bin/env rm x",
    "\\env rm x",
    "e'n'v rm x",
]


@pytest.mark.parametrize("line", RUNS_RM)
def test_the_command_inside_is_found(line):
    script = parse(line)
    inner = script.commands[-1]
    assert inner.name == "rm"
    assert [w.text for w in inner.args][:1] == ["x"]
    assert script.unresolved == ()


@pytest.mark.parametrize(
    "line", ["sudo rm x", "sudo -u y -E A=b -- rm x", "doas rm x", "pkexec rm x", "su -c 'rm x'", "su - y -c 'rm x'"]
)
def test_other_rights_are_seen(line):
    inner = parse(line).commands[-1]
    assert (inner.name, inner.privileged) == ("rm", True)


@pytest.mark.parametrize(
    "line", ["ssh -p 22 h rm x", "ssh h 'a; rm x'", "docker exec -it c rm x", "docker run --rm -v a:b i rm x",
             "docker compose exec web rm x", "kubectl exec p -c y -- rm x"]
)  # fmt: skip
def test_what_runs_elsewhere_is_seen(line):
    inner = parse(line).commands[-1]
    assert (inner.name, inner.remote) == ("rm", True)


UNCLEAR = [
    "echo rm x | sh",
    "cat f | bash -s",
    'sh -c "$x"',
    'eval "$x"',
    "bash $x",
    "bash <(a)",
    ". <(a)",
    "f() { sh; }",
    "xargs sh -c",
    "find . $x",
    "find . -exec sh -c '{}' \\;",
    "timeout --new-option 5 rm x",
    "sudo --new-option x rm y",
    "sudo -i",
    "su",
    "parallel rm ::: x",
    "bash --rcfile y -c ls",
    "env -C y ls",
    "python -c x",
    "python3.12 -Ic x",
    "python - < $x",
    "python -m timeit x",
    "perl -pi -e x f",
    "perl -ne x f",
    "ruby -rx -e y",
    "node -p x",
    "php -r x",
    "deno eval x",
    "awk 'BEGIN{system(\"x\")}'",
    "awk '{print | \"sh\"}' f",
    "awk '{print > \"f\"}' f",
    "sed 's/a/b/e' f",
    "sed '1w x' f",
    "sed '1e x' f",
    "git -c core.pager='sh x' log",
    "git -c alias.y='!rm x' y",
    "git -c core.sshCommand=x fetch",
    "git rebase --exec x main",
    "git rebase --ex x main",
    "git log --ext-diff",
    "git clone ext::x y",
    "git grep -Ox y",
    "tar xf x --to-command=y",
    "tar -I y -xf x",
    "rsync -e y a b",
    "rg --pre y x",
    "sort --compress-program=y x",
    "ssh -o ProxyCommand=x h",
    "ssh -oProxyCommand=x h",
    "vim -c x y",
    "vim '+!x' y",
    "make SHELL=x",
    "make -f - <<< x",
    "sqlite3 x '.shell y'",
    "psql -c '\\! x'",
    "gdb -p 1",
    "at now",
    "tmux new x",
    "hash -p x y",
    "enable -f x y",
    'trap "$x" EXIT',
    'alias x="$y"',
    "curl -K x",
    "man -P x y",
    "split --filter=x y",
]


@pytest.mark.parametrize("line", UNCLEAR)
def test_what_would_run_is_not_told(line):
    assert parse(line).unresolved != ()


PLAIN = [
    "python x.py",
    "python -m pytest -q",
    "python3 -W ignore x.py",
    "node --test x.js",
    "bash x.sh a",
    "bash -n x.sh",
    ". venv/bin/activate",
    "source x",
    "command -v git",
    "trap - EXIT",
    "trap '' INT",
    "find . -name x -delete",
    "xargs",
    "awk -F: '$3 > 5 || $1 ~ /x/ {print $1}' f",
    "sed -n '/a/,/b/p' f",
    "sed -E 's#(a|b)/c#\\1#g; /^$/d' f",
    "sed ':a;N;$!ba;s/\\n/ /g' f",
    "git -c color.ui=always log",
    "git -c core.pager=cat log",
    "git -C x status",
    "GIT_PAGER=cat git log",
    "GIT_EDITOR=true git rebase --continue",
    "docker ps",
    "docker build -t x .",
    "kubectl get pods",
    "ssh h",
    "tar xzf x",
    "make -j4 all",
    "vim +10 x",
    "env",
    "sudo -v",
    "sh < x.sh",
]


@pytest.mark.parametrize("line", PLAIN)
def test_ordinary_use_of_the_same_programs_is_clear(line):
    assert parse(line).unresolved == ()


def test_wrappers_with_nothing_of_their_own_are_marked():
    script = parse("timeout 5 sudo env find . -exec rm {} +")
    assert [(c.name, c.wrapper) for c in script.commands] == [
        ("timeout", True),
        ("sudo", False),
        ("env", True),
        ("find", False),
        ("rm", False),
    ]
    assert script.commands[-1].via == ("timeout", "sudo", "env", "find")


def test_variables_given_to_a_wrapper_hold_for_what_it_runs():
    names = [[a.name for a in c.assignments] for c in parse("A=1 env B=2 rm x").commands]
    assert names == [["A"], ["A", "B"]]
