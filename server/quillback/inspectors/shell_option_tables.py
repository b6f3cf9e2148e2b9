"""Which options of which programs run other programs, and which name files that are written."""

from collections.abc import Mapping

from quillback.inspectors.shell_matcher import ANY, Grammar, Options, options
from quillback.inspectors.shell_script import Word

_WORDS = Grammar(words=True)
_COMPILER = Grammar(words=True, attached=True)


def _grammar(valued: str, plain: str = "") -> Grammar:
    return Grammar(valued, frozenset(plain.split()))


# fmt: off
_TAR = _grammar("bCfFgHIKLNTVX", "--checkpoint")
_RSYNC = _grammar("BTMef@", "--backup --partial")
_FD = _grammar("dteESxXcjo")
_PIP = _grammar("cefirtdw", "--pre")
_EDITOR = _grammar("cSTirqLdV")
_CURL = _grammar("AbcCdDeEFhHKmoPQrtTuUwxXyYz", "--cookie")
_GIT_LOG = _grammar("nSGLUlO")
_GRAMMARS: dict[str, Grammar] = {
    "tar": _TAR, "bsdtar": _TAR, "gtar": _TAR,
    "rsync": _RSYNC,
    "sort": _grammar("kStTo"),
    "split": _grammar("abClnt"),
    "scp": _grammar("cDFiJloPSX"), "sftp": _grammar("BbcDFiJlPRSsX"),
    "rg": _grammar("ABCefgmMrtTjdE"), "fd": _FD, "fdfind": _FD,
    "make": _grammar("CfIoWE"), "gmake": _grammar("CfIoWE"),
    "go": _WORDS, "openssl": _WORDS, "sqlite3": _WORDS, "find": _WORDS, "java": _WORDS, "lldb": _WORDS,
    "emacs": _WORDS, "nmap": _WORDS, "ffmpeg": _WORDS, "tsc": _WORDS, "esbuild": _WORDS,
    "gcc": _COMPILER, "g++": _COMPILER, "cc": _COMPILER, "c++": _COMPILER, "clang": _COMPILER, "clang++": _COMPILER,
    "ld": _COMPILER, "7z": _COMPILER, "7za": _COMPILER, "7zz": _COMPILER,
    "cmake": Grammar(plain=frozenset({"--install"}), words=True, attached=True),
    "vim": _EDITOR, "vi": _EDITOR, "nvim": _EDITOR, "ex": _EDITOR, "view": _EDITOR,
    "man": _grammar("CRLmMSsePrEp"),
    "cargo": _grammar("pjFZC", "--target"),
    "wget": _grammar("aABDeGiIloOPQRtTUwX"),
    "curl": _CURL, "curlie": _CURL,
    "pip": _PIP, "pip3": _PIP,
    "pytest": _grammar("kmcopnrW"),
    "cp": _grammar("tS"), "mv": _grammar("tS"), "ln": _grammar("tS"), "install": _grammar("tSgom"),
    "unzip": _grammar("dPIO"), "zip": _grammar("bitOPRxnlk"),
    "cpio": _grammar("CDEFHIMORW"),
    "gpg": _grammar("orRuN"),
    "ssh-keygen": _grammar("abCDEfFGIJjKMmnNOPrRsStTVwYz"),
    "tcpdump": _grammar("BcCdEFGijmMrsTVwWyzZ"), "tshark": _grammar("abBcCdDeEfFGhHijKmMnNorRsTtuUwWXyYzZ"),
    "strace": _grammar("abeEIoOpPsSuUX"),
    "sed": _grammar("efl"), "gsed": _grammar("efl"),
    "perl": _grammar("eEIMmxCDFV"), "ruby": _grammar("eIrECKxTWF"), "yq": _grammar("opI"),
    "less": _grammar("bhjkpPtTxyzD#"),
    "psql": _grammar("cdfFhLopPRTUv"), "mysql": _grammar("eDhSuP"),
    "patch": _grammar("BbdDFgiopRrVxYz"),
    "uniq": _grammar("fsw"), "xxd": _grammar("cglosnR"),
    "docker": _grammar("fceluvwp"), "podman": _grammar("fceluvwp"),
    "pandoc": _grammar("frtwoMVHBAFLDTmc", "--to"),
    "git clone": _grammar("bouj"), "git grep": _grammar("efmABC"), "git rebase": _grammar("CsSX"),
    "git difftool": _grammar("tUSGlO"), "git diff": _GIT_LOG, "git log": _GIT_LOG, "git show": _GIT_LOG,
    "git archive": _grammar(""), "git format-patch": _grammar("nUSGlv"), "git instaweb": _grammar("lpbm"),
}

# What follows these options is a program, or code.
_RUNNING: dict[str, str] = {
    "tar": "--to-command --checkpoint-action --use-compress-program -I --rmt-command --rsh-command --info-script "
           "--new-volume-script -F",
    "rsync": "-e --rsh --rsync-path",
    "scp": "-S -o -D -F", "sftp": "-S -o -D -F",
    "rg": "--pre --hostname-bin",
    "fd": "-x --exec -X --exec-batch",
    "sort": "--compress-program",
    "split": "--filter",
    "zip": "--unzip-command",
    "man": "-P --pager -H --html",
    "make": "--eval -E",
    "go": "-exec -toolexec -vettool -overlay",
    "gcc": "-wrapper -fplugin -specs -B", "clang": "-fplugin -load -B",
    "cmake": "-P -E", "ctest": "-S --script -SP --script-new-process",
    "cargo": "--config",
    "vim": "-c --cmd -S", "nvim": "-c --cmd -S -l",
    "emacs": "--eval --execute -eval -f --funcall -l --load",
    "lldb": "-o --one-line -s -S -O",
    "sqlite3": "-cmd -init -A",
    "tcpdump": "-z",
    "wget": "--use-askpass -e --execute --config",
    "curl": "-K --config",
    "openssl": "-engine -provider -provider-path",
    "nmap": "--script",
    "nix-shell": "--run --command", "nix": "--command -c",
    "less": "-k --lesskey-file --lesskey-src",
    "fzf": "--preview --bind",
    "hash": "-p", "enable": "-f", "compgen": "-C -F", "complete": "-C -F", "mapfile": "-C", "readarray": "-C",
    "bind": "-x",
    "xterm": "-e",
    "cpio": "--rsh-command",
    "gpg": "--exec-path --photo-viewer --agent-program --dirmngr-program",
    "ssh-keygen": "-D",
    "pip": "--python",
    "mysql": "--pager",
    "pandoc": "--filter -F --lua-filter -L --pdf-engine",
    "git *": "--ext-diff",
    "git rebase": "-x --exec",
    "git difftool": "-x --extcmd",
    "git clone": "-u --upload-pack --template -c --config",
    "git fetch": "--upload-pack", "git pull": "--upload-pack",
    "git push": "--receive-pack --exec",
    "git ls-remote": "--upload-pack --exec", "git fetch-pack": "--upload-pack --exec",
    "git send-pack": "--receive-pack --exec",
    "git archive": "--exec --remote",
    "git instaweb": "-d --httpd",
    "git grep": "-O --open-files-in-pager",
    "git init": "--template",
    "git apply": "--unsafe-paths",
    "git send-email": "--to-cmd --cc-cmd --smtp-server --sendmail-cmd --header-cmd",
    "git filter-branch": "--env-filter --tree-filter --index-filter --parent-filter --msg-filter --commit-filter "
                         "--tag-name-filter --setup",
}

# What follows these options is a file that is written, or the directory for those.
_WRITING: dict[str, str] = {
    "sort": "-o --output", "tree": "-o", "iconv": "-o --output", "shuf": "-o --output", "diff": "--output",
    "curl": "-o --output -D --dump-header -c --cookie-jar --output-dir --trace --trace-ascii --stderr --libcurl "
            "--etag-save --hsts --alt-svc",
    "wget": "-O --output-document -o --output-file -P --directory-prefix -a --append-output --save-cookies --warc-file "
            "--warc-tempdir --rejected-log --hsts-file",
    "tar": "-C --directory --one-top-level -g --listed-incremental --index-file --volno-file",
    "unzip": "-d", "cpio": "-D --directory -O", "7z": "-o -w",
    "rsync": "--log-file --backup-dir -T --temp-dir --partial-dir --write-batch --only-write-batch",
    "gcc": "-o", "clang": "-o", "ld": "-o",
    "go": "-o -C",
    "openssl": "-out -keyout -writerand -sigout -CAout",
    "gpg": "-o --output",
    "ssh-keygen": "-f",
    "find": "-fprint -fprint0 -fprintf -fls",
    "pip": "-t --target --prefix --root",
    "npm": "--prefix -C", "pnpm": "-C --dir", "yarn": "--cwd",
    "csplit": "-f --prefix",
    "script": "-O -B --log-out --log-io -T --log-timing",
    "strace": "-o --output",
    "cmake": "-B --install-prefix",
    "make": "-C --directory -f --file --makefile -I --include-dir",
    "ninja": "-C",
    "cargo": "--target-dir --root -C",
    "pandoc": "-o --output --extract-media",
    "patch": "-o --output -d --directory -r --reject-file -B --prefix",
    "zstd": "-o --output-dir-flat", "lz4": "-o",
    "vim": "-w -W",
    "less": "-o -O --log-file --LOG-FILE",
    "nmap": "-oN -oX -oG -oA -oS",
    "tcpdump": "-w", "tshark": "-w",
    "psql": "-o --output -L --log-file", "mysql": "--tee",
    "ssh": "-E",
    "git *": "--output --output-directory",
    "git format-patch": "-o", "git archive": "-o", "git bugreport": "-o", "git diagnose": "-o", "git mailsplit": "-o",
    "git index-pack": "-o",
    "git apply": "--directory", "git am": "--directory",
    "git checkout-index": "--prefix",
    "git read-tree": "--index-output",
    "git clone": "--separate-git-dir", "git init": "--separate-git-dir",
    "git fast-export": "--export-marks", "git fast-import": "--export-marks --export-pack-edges",
    "git config": "-f --file",
}
# The same, where that is what the program is for: rules may cover it.
_MAKING: dict[str, str] = {
    "pytest": "--junitxml --junit-xml --basetemp --report-log --log-file --html --json-report-file",
    "go": "-coverprofile -cpuprofile -memprofile -blockprofile -mutexprofile -trace -outputdir",
    "mv": "-t --target-directory", "ln": "-t --target-directory",
    "pip": "--log -d --dest --report --src -w --wheel-dir",
    "docker": "-o --output",
    "zipapp": "-o --output",
}
_IN_PLACE: dict[str, str] = {"sed": "-i --in-place", "perl": "-i", "ruby": "-i", "yq": "-i --inplace --in-place"}

_SAME_AS = {
    "gsed": "sed", "fdfind": "fd", "gmake": "make", "g++": "gcc", "cc": "gcc", "c++": "gcc", "clang++": "clang",
    "vi": "vim", "ex": "vim", "view": "vim", "bsdtar": "tar", "gtar": "tar", "pip3": "pip", "7za": "7z", "7zz": "7z",
    "curlie": "curl", "gsort": "sort", "gsplit": "split", "virtualenv": "venv", "podman": "docker", "py.test": "pytest",
}
# fmt: on
_NONE = options(())


def grammar_of(name: str) -> Grammar:
    return _GRAMMARS.get(name) or _GRAMMARS.get(_SAME_AS.get(name, ""), ANY)


def _compiled(table: dict[str, str]) -> Mapping[str, Options]:
    whole = {
        **table,
        **{name: table[other] for name, other in _SAME_AS.items() if other in table and name not in table},
    }
    common = table.get("git *", "")
    return {
        name: options(tuple(f"{names} {common if name.startswith('git ') else ''}".split()), grammar_of(name))
        for name, names in whole.items()
    }


RUNNING, WRITING, MAKING = _compiled(_RUNNING), _compiled(_WRITING), _compiled(_MAKING)
IN_PLACE = _compiled(_IN_PLACE)


def of_program(table: Mapping[str, Options], name: str) -> Options:
    """The options of a program, or of a command of git (`git log`)."""
    found = table.get(name)
    if found is None and name.startswith("git "):
        found = table.get("git *")
    return found or _NONE


def spread(name: str, words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The arguments of tar with its old way of writing options (`xIf PROGRAM FILE`) turned into the new one."""
    first = words[0].text if words else None
    if name not in ("tar", "bsdtar", "gtar") or not first or not first.isalpha():
        return words
    found: list[Word] = []
    rest = list(words[1:])
    for letter in first:
        found.append(Word(f"-{letter}", f"-{letter}", words[0].source))
        if letter in _TAR.valued and rest:
            found.append(rest.pop(0))
    return (*found, *rest)
