"""Every command and every edit that gpudoctor prints is read: as the shell, as Python, and as each tool knows it."""

import functools
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.model import Kind
from gpudoctor.registry import Registry

sys.path.insert(0, str(Path(__file__).parent))

import options
import printed
import shell

HERE = Path(__file__).parent
COMPUTED = {
    "checks/checkpoint/state_dict_architecture.py": "comparison.fix_line and comparison.load_line",
    "checks/checkpoint/state_dict_prefix.py": "comparison.fix_line and comparison.load_line",
    "checks/checkpoint/state_dict_shape.py": "comparison.fix_line and comparison.load_line",
}
"""Fixes whose text no source holds: test_key_comparison.py of tests/checkpoint runs what is made for real files."""
NOT_RUN_HERE = {
    "cuda:1": "needs two GPUs",
    "get_device_capability": "needs a GPU",
    "libcuda.so.1": "needs NVIDIA's driver",
    "flash_attn": "needs flash-attn, which is built for a GPU",
    'init_process_group("nccl")': "needs a GPU, and the variables of torchrun",
    "download=True": "downloads a data set",
    "weights='DEFAULT'": "downloads weights",
}
"""Lines of ``python -c`` that this machine cannot run, by a part of them."""
HARMLESS = frozenset(
    "bash cat command cut df dirname du echo env export find getent grep head hostname id ldconfig ls lspci pgrep "
    "printenv ps pwd sed sh ss sysctl tail timeout ulimit unset which".split()
) | {"ip addr", "ip link", "ip route get"}
"""What looks and changes nothing, as it is printed."""
STANDING_FOR = {
    "NODE1_ADDRESS": "127.0.0.1",
    "FOLDER": "/tmp",
    "CHECKPOINT_FOLDER": "/tmp",
    "DATA": "/tmp",
    "FILE": "/etc/hostname",
    "NODE": "localhost",
    "PID": str(os.getpid()),
}
"""What runs in the place of the reader's own words."""
REFUSED = re.compile(
    r"(?i)(invalid|unknown|unrecognized|illegal|bad) (option|argument|field|syntax)|usage:|syntax error"
)
OF_TORCH = {"torchrun", "torch.distributed.launch", "torchfrtrace"}
"""Commands of torch, whose parsers are asked in one process: to start each of them takes seconds."""
WRONG = [
    "dist.all_reduced(x)",
    "torch.load('model.pt', weight_only=True)",
    "torch.zeros(8, devise='cpu')",
    "model.load_statedict(state)",
    "x.clone(format=torch.contiguous_format)",
    "from torch.distributed.fsdp import fully_sharded",
    "DataLoader(dataset, batchsize=3)",
    "optimizer.zero_grad(to_none=True)",
    "functools.partial(torch.load, weight_only=True)",
]
"""Edits that must be refused."""


@functools.cache
def fixes():
    return list(printed.fixes())


@functools.cache
def shell_texts():
    return list(printed.shell_texts())


@functools.cache
def asked_of_torch():
    """What torch says of every edit, and what every line of ``python -c`` did."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed beside gpudoctor")
    edits = list(printed.python_texts())
    lines = sorted({line for text in shell_texts() for c in shell.commands(text.text) for line in c.python})
    edits += [printed.Printed(line, "python -c", "COMMAND") for line in lines]
    here = [line for line in lines if not any(part in line for part in NOT_RUN_HERE)]
    asked = {"edits": [[edit.text, edit.kind == "page"] for edit in edits], "lines": here}
    asked["edits"] += [[text, False] for text in WRONG]
    asked["launches"] = launches = torchrun_arguments()
    script = [sys.executable, "-W", "ignore", str(HERE / "torch_names.py")]
    done = subprocess.run(script, input=json.dumps(asked), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    said = answer["edits"]
    return {
        "edits": list(zip(edits, said[: len(edits)], strict=True)),
        "wrong": said[len(edits) :],
        "lines": list(zip(here, answer["lines"], strict=True)),
        "launches": list(zip(launches, answer["launches"], strict=True)),
        "torchrun": answer["torchrun"],
        "torch.distributed.launch": answer["torchrun"] + answer["torch.distributed.launch"],
        "torchfrtrace": answer["torchfrtrace"],
    }


def torchrun_arguments():
    """Return what torchrun is given in fixes; a page may name an option without a script."""
    every = [c for text in shell_texts() if text.kind != "page" for c in shell.commands(text.text)]
    return [command.words[1:] for command in every if command.key == "torchrun"]


def groups_named(name, pattern):
    """Yield what stands in the groups ``(?P<name>...)`` of a pattern."""
    for begin in re.finditer(rf"\(\?P<{name}>", pattern):
        place, depth, in_class = begin.end(), 1, False
        while depth:
            letter = pattern[place]
            if letter == "\\":
                place += 1
            elif in_class:
                in_class = letter != "]" or pattern[place - 1] in "[^"
            else:
                in_class = letter == "["
                depth += {"(": 1, ")": -1}.get(letter, 0)
            place += 1
        yield re.sub(r"\(\?P=\w+\)", r"\\w+", pattern[begin.end() : place - 1])


def test_what_fixes_print_is_found_in_the_sources():
    assert len(fixes()) > 850
    assert len(shell_texts()) > 1200
    assert len(list(printed.python_texts())) > 450
    unread = {text.where for text in fixes() if printed.UNREAD in text.text}
    assert unread == COMPUTED.keys()


def test_every_exception_is_still_needed():
    texts = {text.text for text in fixes()}
    assert printed.NEITHER.keys() <= texts
    lines = [line for text in shell_texts() for c in shell.commands(text.text) for line in c.python]
    assert all(any(part in line for line in lines) for part in NOT_RUN_HERE)


class TestShell:
    def test_parses(self):
        scripts = [text.text for text in shell_texts() if text.kind != "page" or " " in text.text]
        whole = "\n".join(f"unused_{number}() {{\n{script}\n}}" for number, script in enumerate(scripts))
        if subprocess.run(["bash", "-n"], input=whole, text=True, capture_output=True).returncode:
            for script in scripts:
                done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True)
                assert done.returncode == 0, (script, done.stderr)
            raise AssertionError("together they do not parse")

    def test_every_text_holds_a_command_or_a_variable(self):
        for text in shell_texts():
            assert list(shell.commands(text.text)) or shell.variables(text.text), text

    def test_a_log_puts_nothing_into_a_command_that_the_shell_would_read(self):
        """A place in single quotes may hold all but such a quote; any other, no blank and no sign of the shell's."""
        seen = 0
        for check in Registry().checks():
            for fix in check.fixes:
                for place in set(printed.PLACE.findall(fix.command)) if fix.kind is not Kind.EDIT else ():
                    quoted = f"'<{place}" in fix.command
                    hostile = (
                        ["a'b"]
                        if quoted
                        else ["a b", "a;b", "$(a)", "`a`", "a|b", "a'b", 'a"b', "a>b", "a&b"]
                    )
                    for pattern in (
                        text for symptom in check.symptoms for text in (symptom.pattern, symptom.near)
                    ):
                        for group in groups_named(place, pattern):
                            seen += 1
                            assert not [text for text in hostile if re.fullmatch(group, text)], (
                                check.id,
                                group,
                            )
        assert seen > 40

    def test_options_are_in_the_list(self):
        known = options.listed()
        unknown = []
        for text in shell_texts():
            for command in shell.commands(text.text):
                entry = known.get(command.key)
                missing = {"command"} if entry is None else options.lacking(command.options, entry["options"])
                unknown += [(command.key, sorted(missing), text.where, text.text)] if missing else []
        assert not unknown

    def test_the_list_holds_nothing_that_is_not_printed(self):
        every = [command for text in shell_texts() for command in shell.commands(text.text)]
        used = options.used(every)
        known = options.listed()
        assert known.keys() == used.keys()
        for key, entry in known.items():
            spelled = {word for option in used[key] for word in options.spelled(option)}
            assert set(entry["options"]) <= spelled, key
            assert entry["source"]

    def test_the_tools_that_are_here_know_their_options(self):
        """What a list calls the tool's own help must stand in it; what it calls a manual, no help need show."""
        known = options.listed()
        # One without options is asked when the list is made.
        of_help = {k for k, e in known.items() if e["options"] and not re.match(r"https?:|man ", e["source"])}
        said = {**options.helps(of_help - OF_TORCH), **{key: asked_of_torch()[key] for key in OF_TORCH}}
        assert of_help >= OF_TORCH - {"torchfrtrace"}
        here = [key for key in of_help if said[key] is not None]
        assert {"torchrun", "python", "grep", "gpudoctor check"} <= set(here)
        for key in here:
            assert options.named_in(known[key]["options"], said[key]) >= set(known[key]["options"]), key

    def test_harmless_commands_run(self, tmp_path):
        ran = 0
        for text in sorted({text.text for text in shell_texts()}):
            commands = list(shell.commands(text))
            if not all(
                c.key in options.BUILTINS or (c.key in HARMLESS and shutil.which(c.words[0]))
                for c in commands
            ):
                continue
            if not commands or any(
                "-delete" in c.options or c.key in ("kill", "source", ".", "eval") for c in commands
            ):
                continue
            line = re.sub(r"\b[A-Z]\w+\b", lambda word: STANDING_FOR.get(word[0], word[0]), text)
            done = subprocess.run(
                ["bash", "-c", line],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=30,
                stdin=subprocess.DEVNULL,
            )
            refused = done.returncode in (2, 126, 127) and done.stderr and "No such file" not in done.stderr
            assert not refused, (line, done.stderr)
            assert not REFUSED.search(done.stderr), (line, done.stderr)
            ran += 1
        assert ran > 100

    def test_torchrun_takes_its_arguments(self):
        launches = asked_of_torch()["launches"]
        assert len(launches) > 50
        assert [(words, wrong) for words, wrong in launches if wrong] == []

    def test_nvidia_smi_has_the_columns(self):
        """Its own list of columns: ``nvidia-smi --help-query-gpu`` and ``--help-query-compute-apps``."""
        columns = {
            "gpu": {"compute_cap", "compute_mode", "driver_version", "gpu_recovery_action", "index", "memory.total",
                    "mig.mode.current", "name", "pci.bus_id", "pcie.link.gen.current", "pcie.link.gen.max",
                    "pcie.link.width.current", "pcie.link.width.max", "persistence_mode", "power.default_limit",
                    "power.limit", "power.max_limit", "serial", "uuid", "vbios_version"},
            "compute-apps": {"gpu_uuid", "name", "pid", "process_name", "used_memory"},
        }  # fmt: skip
        for kind, known in columns.items():
            asked = [re.findall(rf"--query-{kind}=(\S+)", text.text) for text in shell_texts()]
            named = {column.rstrip(";") for found in asked for query in found for column in query.split(",")}
            assert named == known


class TestPython:
    def test_every_edit_parses_and_names_what_torch_has(self):
        edits = asked_of_torch()["edits"]
        assert [(edit.where, edit.text, wrong) for edit, wrong in edits if wrong] == []

    def test_every_line_for_python_runs(self):
        lines = asked_of_torch()["lines"]
        assert len(lines) > 20
        assert [(line, wrong) for line, wrong in lines if wrong] == []

    def test_a_wrong_name_or_keyword_would_be_seen(self):
        assert [text for text, wrong in zip(WRONG, asked_of_torch()["wrong"], strict=True) if not wrong] == []

    def test_what_is_json_parses(self):
        found = [text.text for text in fixes() if printed.language(text) == "json"]
        assert len(found) >= 3
        for text in found:
            json.loads(text if text.startswith("{") else f"{{{text}}}")
