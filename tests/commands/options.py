"""Which options a tool knows: what it says of itself where it is installed, and ``options.json`` where it is not.

``python tests/commands/options.py`` asks every tool that this machine has about every command that gpudoctor prints,
and writes ``options.json`` again. What stands there of a tool that is not installed stays; a new one is added by hand,
with the page of its documentation that lists the option.
"""

import concurrent.futures
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from shell import Simple

LIST = Path(__file__).parent / "options.json"
BUILTINS = {
    ".",
    "command",
    "echo",
    "eval",
    "export",
    "kill",
    "pwd",
    "source",
    "trap",
    "ulimit",
    "unset",
    "wait",
}
"""Commands of the shell itself; ``help NAME`` describes them."""
MODULES = ["bash", "-lc", "module --help"]
HELP = {
    "module": MODULES,
    "module avail": MODULES,
    "module load": MODULES,
    "ip": ["ip", "-help"],
    "ip addr": ["ip", "-help"],
    "ip link": ["ip", "-help"],
    "ip link set": ["ip", "link", "help"],
    "ip route get": ["ip", "-help"],
    "nc": ["nc", "-h"],
    "ping": ["ping", "-h"],
    "tracepath": ["tracepath", "-h"],
    "ipmitool chassis power": ["ipmitool", "-h"],
    "ipmitool sel list": ["ipmitool", "-h"],
    "ibstat": ["ibstat", "-h"],
    "fi_info": ["fi_info", "-h"],
    "ps": ["ps", "--help", "all"],
    "bash": ["bash", "--help"],
    "sh": ["bash", "--help"],
    "git rev-parse": ["git", "rev-parse", "-h"],
    "git lfs install": ["git-lfs", "help", "install"],
    "git lfs pull": ["git-lfs", "help", "pull"],
    "python -m venv": [sys.executable, "-m", "venv", "--help"],
    "python": [sys.executable, "--help"],
    "torchrun": [sys.executable, "-m", "torch.distributed.run", "--help"],
    "torch.distributed.launch": [sys.executable, "-m", "torch.distributed.launch", "--help"],
    "curl": ["curl", "--help", "all"],
    "ssh": ["ssh"],
    "ssh-copy-id": ["ssh-copy-id", "-h"],
    "ssh-keyscan": ["ssh-keyscan"],
    "ssh-keygen": ["ssh-keygen", "-?"],
    "py-spy dump": ["py-spy", "dump", "--help"],
}
"""How a tool is asked, where that is not ``TOOL SUBCOMMAND --help``."""
ONE_HELP = {"apt", "apt-mark", "coredumpctl", "hostnamectl", "scontrol", "systemctl", "ufw"}
"""Tools with one help for all of their commands: the command must stand in it."""
UNTOUCHED = {"reboot", "shutdown", "update-grub"}
"""Never called, not even for their help."""


def listed() -> dict[str, dict[str, str | list[str]]]:
    """Return the committed list: of each command its source and the options that gpudoctor prints."""
    known: dict[str, dict[str, str | list[str]]] = json.loads(LIST.read_text())
    return known


def spelled(option: str) -> list[str]:
    """Return the options in a word: ``-A12`` is ``-A``; ``-ltnp`` is itself, or four."""
    bare = re.sub(r"^(-[A-Za-z]+)\d+$", r"\1", option)
    bundle = re.fullmatch(r"-([A-Za-z]{2,})", bare)
    return [bare] if bundle is None else [bare, *(f"-{letter}" for letter in bundle[1])]


def lacking(options: Iterable[str], known: Iterable[str]) -> set[str]:
    """Return the options that are not known, whole or as a bundle of letters."""
    names = set(known)
    missing = set()
    for option in options:
        whole, *letters = spelled(option)
        if whole not in names and not (letters and set(letters) <= names):
            missing.add(option)
    return missing


def named_in(options: Iterable[str], text: str) -> set[str]:
    """Return the options, and their letters where they are bundles, that a help text names."""
    words = {word for option in options for word in spelled(option)}
    return {word for word in words if re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text)}


@functools.cache
def help_of(key: str) -> str | None:
    """Return what a tool says of itself; ``None`` where it is not installed or says nothing."""
    tool, *rest = key.split()
    if tool in BUILTINS:
        return _said(["bash", "-c", f"help {tool}"])
    command = HELP.get(key) or [tool, *([] if tool in ONE_HELP else rest), "--help"]
    own = Path(sys.executable).with_name(Path(command[0]).name)
    program = (
        str(own) if own.exists() else shutil.which(command[0], path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    )
    if tool in UNTOUCHED or program is None:
        return None
    if key == "pip install" or tool == "pip":
        return _said([program, *command[1:]])
    text = _said([program, *command[1:]])
    if text is not None and tool in ONE_HELP and rest and rest[-1] not in text:
        return None
    return text


def _said(command: list[str]) -> str | None:
    environment = {**os.environ, "COLUMNS": "200", "LC_ALL": "C"}
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as slurm:
        # Slurm's commands say nothing of themselves without a cluster's file.
        print("ClusterName=test\nSlurmctldHost=localhost", file=slurm, flush=True)
        environment["SLURM_CONF"] = slurm.name
        try:
            done = subprocess.run(
                command, capture_output=True, stdin=subprocess.DEVNULL, env=environment, timeout=60, text=True
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
    return done.stdout + done.stderr or None


def used(commands: Iterable[Simple]) -> dict[str, set[str]]:
    """Return the options that each command is printed with."""
    found: dict[str, set[str]] = defaultdict(set)
    for command in commands:
        found[command.key] |= set(command.options)
    return found


def helps(keys: Iterable[str]) -> Mapping[str, str | None]:
    """Ask several tools at once."""
    names = sorted(keys)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return dict(zip(names, pool.map(help_of, names), strict=True))


def main() -> None:
    """Write ``options.json`` again; what cannot be asked and is not listed is said."""
    from printed import shell_commands

    known = listed() if LIST.exists() else {}
    wanted = used(shell_commands())
    said = helps(wanted)
    for key, options in sorted(wanted.items()):
        text = said[key]
        entry = known.get(key, {"source": "", "options": []})
        if text is not None and not lacking(options, named_in(options, text)):
            entry = {"source": _source(key), "options": sorted(named_in(options, text))}
        missing = lacking(options, entry["options"])
        if missing or not entry["source"]:
            print(
                f"{key}: {' '.join(sorted(missing)) or 'not known'}",
                "" if text is None else "(not in its help)",
            )
        if entry["source"]:
            known[key] = entry
    rows = [f"  {json.dumps(key)}: {json.dumps(known[key])}" for key in sorted(known) if key in wanted]
    LIST.write_text("{\n" + ",\n".join(rows) + "\n}\n")


def _source(key: str) -> str:
    tool = key.partition(" ")[0]
    if tool in BUILTINS:
        return f"bash: help {tool}"
    return " ".join(Path(word).name if "/" in word else word for word in HELP.get(key, [key, "--help"]))


if __name__ == "__main__":
    main()
