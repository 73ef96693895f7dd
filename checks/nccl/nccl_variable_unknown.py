"""A variable of NCCL, torch or gloo, or its value, that nothing here understands.

## What happens

Nothing: no error, no warning, and no effect. NCCL takes another interface than the one in NCCL_SOCKET_IFACE, the
time-out stays what it was, NCCL_IB_DISABLE=true leaves InfiniBand on. torch alone refuses some values: "The value of
TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL" already while it is imported, "Invalid value for environment
variable" when the process group is made.

## Why

- Libraries ask for the variables they know and never look at the others: a misspelt name is not seen by anybody.
- A name of another version, or of a plug-in that is not loaded.
- NCCL reads most values as C numbers: the digits at the front count, so `4M` is 4, and `true` or `"1"` with its quotes is 0.
- `^` and `=` come once, before a whole list of interfaces or adapters; blanks are part of a name.
- In `/etc/nccl.conf`, `~/.nccl.conf` and `$NCCL_CONF_FILE` a line is exactly NAME=VALUE: `export` and blanks belong
  to the name.

gpudoctor reads the names out of the libraries of this environment: what they do not contain, they cannot ask for. Of a
pasted text it knows the names of NCCL 2.14 to 2.32 and of torch, and reports what is nearly one of them.

## How to tell

`NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV` prints "NAME set by environment to VALUE" for what NCCL took, as it took it.
`strings libnccl.so.2 | grep -x 'NCCL_[A-Z0-9_]*'` lists what it knows.

## See also

- [NCCL: environment variables](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html): every documented name and its values
- [NCCL variables of torch](https://docs.pytorch.org/docs/stable/torch_nccl_environment_variables.html): the names that begin with TORCH_NCCL_
"""

import difflib
import re
import shlex
from collections.abc import Iterator

from msgspec.structs import replace

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import (
    OF_ALL_RELEASES,
    REMOVED,
    RENAMED,
    Launch,
    NcclConfiguration,
    Setting,
    Torch,
    Variables,
    is_elsewhere,
    misread,
    number,
    settings,
)

OF_NCCL = re.compile(r"NCCL_\w+|(?:NCLL|NNCL|NCC|NCL|NCCCL)_\w+")
OF_TORCH_NCCL = re.compile(r"TORCH_(?:NCCL|FR)_\w+")
OF_TORCH = re.compile(r"TORCH_(?:DIST\w*|GLOO)_\w+|GLOO_\w+|TORCHELASTIC_\w+|(?:TROCH|PTORCH)_\w+")
# Other names that begin so may be anybody's: one is judged only where a known name is very near.
NEARLY = re.compile(r"(?:TORCH|PYTORCH)_\w+")
# Names that Python code alone reads stand in no library; people misspell them all the same.
IN_PYTHON = frozenset(
    "TORCHELASTIC_ERROR_FILE TORCHELASTIC_USE_AGENT_STORE TORCHELASTIC_ENABLE_FILE_TIMER TORCH_DIST_INIT_BARRIER "
    "TORCHELASTIC_RUN_ID TORCHELASTIC_RESTART_COUNT TORCHELASTIC_MAX_RESTARTS TORCHELASTIC_SIGNALS_TO_HANDLE".split()
)
LOADERS = (
    "NCCL_NET_PLUGIN",
    "NCCL_TUNER_PLUGIN",
    "NCCL_PROFILER_PLUGIN",
    "NCCL_ENV_PLUGIN",
    "NCCL_GIN_PLUGIN",
)
NEAR, VERY_NEAR = 0.8, 0.9
SYNONYMS = {
    "IFACE": "IFNAME", "IFNAMES": "IFNAME", "INTERFACE": "IFNAME", "INTERFACES": "IFNAME", "DISABLED": "DISABLE",
    "ENABLED": "ENABLE", "ALGORITHM": "ALGO", "ALGORITHMS": "ALGO", "PROTOCOL": "PROTO", "PROTOCOLS": "PROTO",
    "BUFFERSIZE": "BUFFSIZE", "HCAS": "HCA",
}  # fmt: skip
OPPOSITES = {"ENABLE": "DISABLE", "DISABLE": "ENABLE"}
ADDED = frozenset("LEVEL SIZE MB COUNT NUM SEC SECONDS MS LIST NAME FLAG MODE VALUE ENABLE".split())
INSTEAD = {
    "NCCL_TIMEOUT": "the time-out is an argument: init_process_group(timeout=timedelta(hours=2))",
    "NCCL_LOG_LEVEL": "NCCL_DEBUG says how much NCCL prints",
    "NCCL_VERBOSE": "NCCL_DEBUG says how much NCCL prints",
    "TORCH_NCCL_TIMEOUT": "the time-out is an argument: init_process_group(timeout=timedelta(hours=2))",
}
# src/graph/xml.cc: the one returns ncclSuccess, the other ncclSystemError
NAMED = {
    "NCCL_TOPO_FILE": (
        Severity.WARNING,
        "and NCCL says so with NCCL_DEBUG=INFO alone: it takes the topology that it finds by itself",
    ),
    "NCCL_GRAPH_FILE": (
        Severity.ERROR,
        'and the first communicator fails with "unhandled system error"',
    ),
}

check = Check(
    severity=Severity.WARNING,
    otherwise="an error for a value that torch refuses and for a graph file that is not there, a note where a plug-in may read it",
    fixes=[
        Fix(
            "See what NCCL takes, and how it reads it",
            "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV torchrun --standalone --nproc-per-node=N train.py",
        )
    ],
)


@check.environment
def environment(
    launch: Launch, variables: Variables | None, configuration: NcclConfiguration | None, torch: Torch | None
) -> Iterator[Finding]:
    """A variable is set that no library here holds, or to a value that its reader takes for another."""
    known = settings(launch, configuration)
    found = [*_misread(known, torch), *_lines(launch, configuration)]
    looked = variables is not None and (variables.torch or variables.nccl is not None)
    for setting in known.values():
        if variables is None:
            found += _slip(setting, known, torch)
        elif looked:
            found += _unknown(setting, known, variables, torch)
    if not found and not looked and any(map(_is_asked, known)):
        raise CannotTell("which variables the installed libraries read is not known")
    yield from found


def _misread(known: dict[str, Setting], torch: Torch | None) -> Iterator[Finding]:
    for setting in known.values():
        wrong = misread(setting)
        if wrong is None:
            continue
        severity = Severity.ERROR if wrong.fatal else Severity.WARNING
        alone = setting.name.startswith(("NCCL_", "TORCH_NCCL_"))
        if alone and torch is not None and torch.imported and torch.cuda is None:
            severity = Severity.NOTE  # no NCCL in this torch
        fixes = (
            [_set(setting, setting.name, wrong.write)]
            if wrong.write
            else [Fix(setting.removal(), setting.removal_command)]
        )
        yield check.found(f"{setting}: {wrong.why}", severity=severity, fixes=fixes)


def _lines(launch: Launch, configuration: NcclConfiguration | None) -> Iterator[Finding]:
    """Yield what is wrong with NCCL's files themselves."""
    files = configuration.files if configuration is not None else []
    for file in files:
        look = Fix("Look at the file, with its blanks", f"cat -A {shlex.quote(file.path)}")
        for name in file.settings:
            bare = name.strip().removeprefix("export ").strip()
            if bare != name:
                message = f"{file.path} sets {name!r}: in this file a line is NAME=VALUE, and nobody reads such a name"
                yield check.found(f"{message}; write {bare}={file.settings[name].strip()}", fixes=[look])
        if file.without_equals:
            numbers = ", ".join(map(str, file.without_equals[:5]))
            message = f"line {numbers} of {file.path} has no `=`, and NCCL skips it without a word"
            yield check.found(message, severity=Severity.NOTE, fixes=[look])
    path = launch.variables.get("NCCL_CONF_FILE")
    if path and configuration is not None and path not in [file.path for file in files]:
        message = f"NCCL_CONF_FILE={path}: there is no such file, NCCL says nothing of that, and leaves ~/.nccl.conf out too"
        yield check.found(message, fixes=[Fix("Do without it", "unset NCCL_CONF_FILE")])
    known = settings(launch, configuration)
    bootstrap = known.get("NCCL_OOB_NET_IFNAME")
    if bootstrap is not None and number(known.get("NCCL_OOB_NET_ENABLE", Setting("", "0")).value) != 1:
        message = f"{bootstrap}: NCCL reads it with NCCL_OOB_NET_ENABLE=1 alone; NCCL_SOCKET_IFNAME is what chooses here"
        yield check.found(message, fixes=[Fix(bootstrap.removal("Do without it"), bootstrap.removal_command)])
    for name, (severity, what) in NAMED.items():
        if name in known and configuration is not None and (why := configuration.refusal(known[name])):
            fixes = [
                Fix(known[name].removal("Do without it"), known[name].removal_command),
                Fix(
                    "Or make it readable for the user that trains", f"ls -lL {shlex.quote(known[name].value)}"
                ),
            ]
            message = f"{known[name]}: the file cannot be opened ({why}), {what}"
            yield check.found(message, severity=severity, fixes=fixes)


def _is_asked(name: str) -> bool:
    return bool(OF_NCCL.fullmatch(name) or OF_TORCH_NCCL.fullmatch(name))


def _slip(setting: Setting, known: dict[str, Setting], torch: Torch | None) -> Iterator[Finding]:
    """Find a name that no release reads and that is nearly one that some release does: that is a slip of the pen.

    What nothing here is like may be of a release that is not known here, or of a plug-in.
    """
    if setting.name in INSTEAD or _nearest(setting.name, OF_ALL_RELEASES) is not None:
        for finding in _unknown(setting, known, OF_ALL_RELEASES, torch):
            severity = Severity.NOTE if setting.name in INSTEAD else finding.severity
            yield replace(finding, severity=severity)


def _unknown(
    setting: Setting, known: dict[str, Setting], variables: Variables, torch: Torch | None
) -> Iterator[Finding]:
    name = setting.name
    if name != name.strip() or " " in name or not _judged(name, variables, torch):
        return
    if name in variables.names or name in variables.readers or name in IN_PYTHON or is_elsewhere(name):
        return
    if name in REMOVED or name in RENAMED:  # nccl-variable-removed
        return
    near = _nearest(name, variables)
    strict = OF_NCCL.fullmatch(name) or OF_TORCH_NCCL.fullmatch(name) or OF_TORCH.fullmatch(name)
    if not strict and (near is None or difflib.SequenceMatcher(None, name, near).ratio() < VERY_NEAR):
        return
    words = f"{setting}: nothing reads a variable of this name, {_looked(name, variables)}"
    if name in INSTEAD:
        yield check.found(
            f"{words}; {INSTEAD[name]}", fixes=[Fix(setting.removal(), setting.removal_command)]
        )
    elif near is not None:
        others = f", which is set too, to {known[near].value}" if near in known else ""
        message = f"{words}; the nearest name that is read is {near}{others}"
        value = setting.value
        if near == _opposite(name):
            message = f"{words}; {near} is, and says the opposite"
            value = {"0": "1", "1": "0"}.get(value, value)
        yield check.found(
            message, fixes=[_set(setting, near, value), Fix(setting.removal(), setting.removal_command)]
        )
    else:
        # A plug-in, or the script itself, may read what looks like nothing known.
        plug_in = next((f" ({loader} is set)" for loader in LOADERS if loader in known), "")
        message = f"{words}; only a plug-in{plug_in} or your own script could"
        yield check.found(
            message, severity=Severity.NOTE, fixes=[Fix(setting.removal(), setting.removal_command)]
        )


def _judged(name: str, variables: Variables, torch: Torch | None) -> bool:
    """Return whether the libraries that would read such a variable were looked at."""
    if torch is not None and torch.hip:  # RCCL reads NCCL_* and names of its own
        return False
    if OF_NCCL.fullmatch(name):
        return variables.nccl is not None
    if OF_TORCH_NCCL.fullmatch(name):
        return variables.torch and variables.nccl is not None
    in_python = OF_TORCH.fullmatch(name) or NEARLY.fullmatch(name)
    if not in_python or not variables.torch:
        return False
    # Where time was up before every package was looked through, a name that is nearly torch's own is still a slip.
    return variables.searched or (
        OF_TORCH.fullmatch(name) is not None and _nearest(name, variables) is not None
    )


def _looked(name: str, variables: Variables) -> str:
    if variables is OF_ALL_RELEASES:
        return "as far as the names of NCCL's and torch's releases are known here"
    nccl = variables.nccl
    if OF_NCCL.fullmatch(name) and nccl is not None and nccl.version:
        return f"neither NCCL {nccl.version.partition('+')[0]} nor torch"
    shared = nccl is not None and not OF_TORCH.fullmatch(name)
    return "neither torch nor its NCCL" if shared else "torch does not"


def _nearest(name: str, variables: Variables) -> str | None:
    """Return the name that is read and most like this one: the same words in another order, one more, or other letters."""
    older = {new: old for old, new in RENAMED.items() if old in variables.names}
    if name in older:
        return older[name]
    names = sorted(variables.names | IN_PYTHON)
    if name.startswith("GLOO_"):
        names = [known for known in names if known.startswith(("GLOO_", "TORCH_GLOO_"))]
    plain = _plain(name)
    opposite = _opposite(name)
    if opposite in names:
        return opposite
    best = max(names, key=lambda known: _likeness(plain, known), default=None)
    return best if best is not None and _likeness(plain, best) >= NEAR else None


def _plain(name: str) -> str:
    """Return a name with the usual words in the place of those that people take for them."""
    return "_".join(SYNONYMS.get(word, word) for word in name.split("_"))


def _opposite(name: str) -> str | None:
    """Return a name that says the opposite, NCCL_IB_DISABLE of NCCL_IB_ENABLE; ``None`` for one that says neither."""
    head, _, last = _plain(name).rpartition("_")
    return f"{head}_{OPPOSITES[last]}" if last in OPPOSITES else None


def _likeness(name: str, known: str) -> float:
    words, others = name.split("_"), known.split("_")
    letters = difflib.SequenceMatcher(None, name, known).ratio()
    if sorted(words) == sorted(others):
        return 1.0
    missing, extra = set(others) - set(words), set(words) - set(others)
    if (len(missing) == 1 and not extra) or (not missing and len(extra) == 1 and extra <= ADDED):
        return max(letters, VERY_NEAR)
    # NCCL_TEMP_DIR and NCCL_TOPO_FILE have NCCL_ alone in common: that is nothing.
    tail = difflib.SequenceMatcher(None, "_".join(words[1:]), "_".join(others[1:])).ratio()
    return min(letters, tail + 0.1)


def _set(setting: Setting, name: str, value: str) -> Fix:
    if setting.where:
        where = shlex.quote(setting.where)
        return Fix(f"Write it in that file as {name}={value}", f"grep -n {setting.name} {where}", Kind.ADMIN)
    unset = f"; unset {setting.name}" if name != setting.name else ""
    return Fix("Write it as it is read", f"export {name}={shlex.quote(value)}{unset}")
