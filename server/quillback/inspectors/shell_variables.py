"""Variables through which a shell line can make other programs run code, or run other programs than it names."""

import fnmatch
import re

from quillback.inspectors.shell_script import Assignment

# fmt: off
_RUN_CODE = (
    "LD_*", "DYLD_*", "GCONV_PATH", "GLIBC_TUNABLES", "PATH", "IFS", "HOME", "SHELL", "CDPATH", "PWD", "OLDPWD",
    "BASH_ENV", "ENV",
    "PROMPT_COMMAND", "PS4", "BASH_FUNC_*", "SHELLOPTS", "BASHOPTS", "BASH_LOADABLES_PATH", "ZDOTDIR", "FPATH",
    "HISTFILE", "EXECIGNORE", "GLOBIGNORE", "GIT_SSH", "GIT_SSH_*", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "GIT_PROXY_*",
    "GIT_CONFIG*", "GIT_EXEC_PATH", "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_TEMPLATE_DIR", "GIT_TRACE*",
    "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_*", "SSH_ASKPASS", "SUDO_ASKPASS", "RSYNC_RSH", "CVS_RSH",
    "LESSOPEN", "LESSCLOSE", "LESSKEY*", "BROWSER", "XDG_CONFIG_*", "XDG_DATA_*", "INPUTRC", "TERMINFO*", "TERMCAP",
    "PYTHONSTARTUP", "PYTHONHOME", "PYTHONBREAKPOINT", "PYTHONINSPECT", "PYTHONUSERBASE", "PERL5*", "PERLLIB",
    "RUBYOPT", "RUBYLIB", "NODE_OPTIONS", "NODE_PATH", "LUA_INIT*", "R_PROFILE*", "PHPRC", "PHP_INI_SCAN_DIR",
    "CLASSPATH", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "MAVEN_OPTS", "GRADLE_OPTS", "ERL_*",
    "EXINIT", "VIMINIT", "MAKEFLAGS", "MAKEFILES", "GNUMAKEFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER",
    "CARGO_HOME", "CARGO_*_RUNNER", "CARGO_*_LINKER", "RUSTFLAGS", "GOFLAGS", "GOPROXY", "CCACHE_PREFIX",
    "npm_config_*", "NPM_CONFIG_*", "YARN_*", "PIP_*", "UV_*", "GEM_*", "BUNDLE_*", "DOCKER_HOST", "DOCKER_CONFIG",
    "KUBECONFIG", "OPENSSL_CONF", "SSLKEYLOGFILE", "TAR_OPTIONS", "POSIXLY_CORRECT", "RIPGREP_CONFIG_PATH",
    "FZF_DEFAULT_*", "AWKPATH", "QUILLBACK_*", "ANTHROPIC_*", "OPENAI_*",
)
_PROGRAMS = frozenset({
    "PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER", "BAT_PAGER", "DELTA_PAGER", "AWS_PAGER", "EDITOR", "VISUAL",
    "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "FCEDIT", "SUDO_EDITOR", "KUBE_EDITOR",
})
# fmt: on
_HARMLESS_PROGRAMS = frozenset({"", "cat", "less", "more", "true", ":", "/bin/cat", "/bin/true"})
_HARMLESS_VALUES = {"NODE_OPTIONS": re.compile(r"(--max-old-space-size=\d+ ?)*"), "IFS": re.compile(r"[\s,:;|/.-]*")}
_HARMLESS_NAMES = frozenset(
    {
        "LANG",
        "LANGUAGE",
        "TZ",
        "NO_COLOR",
        "FORCE_COLOR",
        "CLICOLOR",
        "CI",
        "COLUMNS",
        "LINES",
        "TERM",
        "DEBIAN_FRONTEND",
    }
)
_PATTERN = re.compile("|".join(fnmatch.translate(name) for name in _RUN_CODE))


def dangerous(assignment: Assignment) -> bool:
    """Whether setting it may make programs of the line run something the line does not show."""
    name, value = assignment.name, assignment.value.text if assignment.value else None
    if name in _PROGRAMS:
        return value not in _HARMLESS_PROGRAMS
    if value is not None and name in _HARMLESS_VALUES and _HARMLESS_VALUES[name].fullmatch(value):
        return False
    return _PATTERN.match(name) is not None


def harmless(assignment: Assignment) -> bool:
    """Whether it changes at most how a program looks."""
    name = assignment.name
    if name in _PROGRAMS:
        return assignment.value is not None and assignment.value.text in _HARMLESS_PROGRAMS
    return name in _HARMLESS_NAMES or name.startswith("LC_")
