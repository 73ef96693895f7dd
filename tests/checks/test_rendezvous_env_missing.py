"""rendezvous-env-missing: part of what env:// reads is not set."""

import pytest

from gpudoctor.facts import Launch
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("rendezvous-env-missing")
MESSAGE = (
    "what a launcher sets is not there: MASTER_ADDR; the script was started without one, or its variables were "
    "lost on the way"
)
EXAMPLES = {
    "ValueError: rank is absent in RendezvousParameters.Try add --node_rank to the cmd request": (
        "the static rendezvous needs --node-rank, and was given none"
    ),
    "ValueError: Endpoint is missing in endpoint. Try to add --master_addr and --master_port": (
        "the static rendezvous needs --master-addr and --master-port, and was given none"
    ),
    "ValueError: Port is absent in endpoint: gpu-03. Try launching with --master_port": (
        "gpu-03 names no port: ports are whole numbers from 0 to 65535"
    ),
    "ValueError: port is missing in endpoint: gpu-03. Try to specify --master-port": (
        "gpu-03 names no port: ports are whole numbers from 0 to 65535"
    ),
    "AssertionError: DCP needs MASTER_PORT to use prefix store": (
        "what a launcher sets is not there: MASTER_PORT; the script was started without one, or its variables were lost on the way"
    ),
    "RuntimeError: LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work": (
        "what a launcher sets is not there: LOCAL_RANK; the script was started without one, or its variables were lost on the way"
    ),
    "ValueError: Error initializing torch.distributed using file:// rendezvous: path missing": (
        "init_process_group was given an init_method of its own, and no path"
    ),
    (
        '  File "/venv/lib/python3.12/site-packages/torch/multiprocessing/spawn.py", line 98, in _wrap\n'
        '  File "/home/ana/fit.py", line 12, in worker\n'
        "    gpu = int(os.environ['LOCAL_RANK'])\nKeyError: 'LOCAL_RANK'"
    ): "what a launcher sets is not there: LOCAL_RANK; mp.spawn sets no variables, it gives a process its rank as the first argument",
    "RuntimeError: Could not find 'MASTER_ADDR' in the torch environment, visit the page on launching": MESSAGE,
    "KeyError: 'RANK": MESSAGE.replace("MASTER_ADDR", "RANK"),
    (
        "ValueError: Error initializing torch.distributed using env:// rendezvous: "
        "environment variable RANK expected, but not set"
    ): (
        "what a launcher sets is not there: RANK; the script was started without one, or its variables were "
        "lost on the way"
    ),
    "Exception has occurred: KeyError\n'RANK'\n  File \"/home/me/fit.py\", line 22, in setup": (
        "what a launcher sets is not there: RANK; the script was started without one, or its variables were "
        "lost on the way"
    ),
    "node = int(os.environ.get('NODE_RANK'))\nTypeError: int() argument must be a string, a bytes-like object or a real number, not 'NoneType'": (
        MESSAGE.replace("MASTER_ADDR", "NODE_RANK")
    ),
    'torch.cuda.set_device(os.getenv("LOCAL_RANK"))\nValueError: Expected a torch.device with a specified index or an integer, but got:None': (
        MESSAGE.replace("MASTER_ADDR", "LOCAL_RANK")
    ),
    "KeyError: 'LOCAL_RANK'": (
        "what a launcher sets is not there: LOCAL_RANK; the script was started without one, or its variables "
        "were lost on the way"
    ),
    "KeyError: 'MASTER_ADDR'": MESSAGE,
    (
        "ValueError: Tried to launch on distributed with multinode, but `MASTER_ADDR` env was not set, please try exporting "
        "rank 0's hostname as `MASTER_ADDR`"
    ): MESSAGE,
    "ValueError: Error initializing torch.distributed using tcp:// rendezvous: rank parameter missing": (
        "init_process_group was given an init_method of its own, and no rank"
    ),
    "ValueError: Error initializing torch.distributed using tcp:// rendezvous: port number missing": (
        "init_process_group was given an init_method of its own, and no port number"
    ),
    "ValueError: env:// rendezvous: WORLD_SIZE not set": (
        "what a launcher sets is not there: WORLD_SIZE; the script was started without one, or its variables "
        "were lost on the way"
    ),
    'Traceback (most recent call last):\n  File "/venv/torch/distributed/rendezvous.py", line 166, in _env_rendezvous_handler\n    raise _env_error("MASTER_ADDR")': MESSAGE,
    (
        'Traceback (most recent call last):\n  File "/venv/torch/distributed/rendezvous.py", line 293, in _env_rendezvous_handler\n'
        '    master_port = int(_get_env_or_raise("MASTER_PORT"))\n'
        "ValueError: invalid literal for int() with base 10: '29500.0'"
    ): "MASTER_PORT is '29500.0', and must be a whole number",
    (
        'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n'
        '    rank = int(os.environ["RANK"])\n'
        "ValueError: invalid literal for int() with base 10: ''"
    ): "RANK is '', and must be a whole number",
    "ValueError: port must have value from 0 to 65535 but was 99999.": (
        "99999 is no port: ports are whole numbers from 0 to 65535"
    ),
    "ValueError: The port number of the rendezvous endpoint 'node-1:99999' must be an integer between 0 and 65536.": (
        "node-1:99999 names no port: ports are whole numbers from 0 to 65535"
    ),
    "torchrun: error: argument --master-port/--master_port: invalid int value: 'abc'": (
        "abc is no port: ports are whole numbers from 0 to 65535"
    ),
    "AssertionError: The engine requires the LOCAL_RANK environment variable, which launchers set": (
        "what a launcher sets is not there: LOCAL_RANK; the script was started without one, or its variables were lost on the way"
    ),
    "KeyError: 'The environment variable MASTER_ADDR is not set'": (
        "what a launcher sets is not there: MASTER_ADDR; the script was started without one, or its variables were lost on the way"
    ),
    "RuntimeError: Cannot tell the size: WORLD_SIZE environment variable not set and no group is there.": (
        "what a launcher sets is not there: WORLD_SIZE; the script was started without one, or its variables were lost on the way"
    ),
}
NOT_THIS = [
    "Could not find 'conda' in the base environment",
    "KeyError: 'SLURM_PROCID'",
    (
        "ValueError: Default process group has not been initialized, please make sure to call "
        "init_process_group."
    ),
    "KeyError: 'RANKING'",
    "lr = int(os.environ.get('LR'))\nTypeError: int() argument must be a string, a bytes-like object or a real number, not 'NoneType'",
    "epochs = int(lines[0])\nValueError: invalid literal for int() with base 10: 'abc'",
    (
        "    size = int(os.environ[\"WORLD_SIZE\"])\nValueError: invalid literal for int() with base 10: 'two'\n"
        "ValueError: Unsupported nproc_per_node value: two"
    ),
]
ALL = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "node-1", "MASTER_PORT": "29500"}


def run(variables):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"launch": Launch(variables=variables)}))


def without(*names, **more):
    return {name: value for name, value in {**ALL, **more}.items() if name not in names}


def test_part_of_a_launch_is_an_error_that_names_what_is_missing():
    _, [finding] = run(without("MASTER_PORT"))
    assert finding.severity is Severity.ERROR
    assert finding.message.startswith(
        "MASTER_PORT is not set, while RANK=0, WORLD_SIZE=2, MASTER_ADDR=node-1"
    )
    _, [finding] = run({"RANK": "0"})
    assert "WORLD_SIZE, MASTER_ADDR and MASTER_PORT are not set" in finding.message


def test_an_empty_value_is_none():
    _, [finding] = run({**ALL, "RANK": ""})
    assert finding.severity is Severity.ERROR
    assert "RANK is not set (RANK empty)" in finding.message


def test_an_address_and_a_port_alone_are_right_for_spawn():
    _, [finding] = run(without("RANK", "WORLD_SIZE"))
    assert finding.severity is Severity.NOTE


def test_srun_leaves_the_mapping_to_the_script():
    _, [finding] = run(without("RANK", SLURM_PROCID="3", SLURM_NTASKS="8"))
    assert finding.severity is Severity.WARNING
    assert "RANK=$SLURM_PROCID" in finding.fixes[0].command


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("MASTER_PORT", "port", "not a whole number"),
        ("MASTER_PORT", "70000", "no TCP port"),
        ("MASTER_PORT", "-1", "no TCP port"),
        ("RANK", "node-1", "not a whole number"),
        ("WORLD_SIZE", "2.0", "not a whole number"),
    ],
)
def test_values_that_cannot_be_read(name, value, words):
    _, [finding] = run({**ALL, name: value})
    assert finding.severity is Severity.ERROR
    assert f"{name}={value} is" in finding.message
    assert words in finding.message


@pytest.mark.parametrize(
    "variables",
    [
        ALL,
        {},
        {**ALL, "MASTER_PORT": "0", "WORLD_SIZE": "1"},
        {"SLURM_PROCID": "0"},
        {"LOCAL_RANK": "0"},
        {"RANK": "", "WORLD_SIZE": ""},
    ],
)
def test_passes(variables):
    assert run(variables)[0].status is CheckStatus.PASSED


def test_port_0_is_free_on_rank_0_alone():
    """Tried with torch 2.15: the other rank says "client socket has timed out ... (127.0.0.1, 0)"."""
    given = {"RANK": "0", "MASTER_ADDR": "localhost", "MASTER_PORT": "0"}
    _, [finding] = run({**given, "WORLD_SIZE": "2"})
    assert "the others connect to port 0 until they time out" in finding.message
    result, _ = run({**given, "WORLD_SIZE": "1"})
    assert result.status is CheckStatus.PASSED


def test_unknown():
    assert examine(CHECK, Source.ENVIRONMENT, Snapshot())[0].reason == "launch: not in this report"


FLAGGED = [
    """
import os
import torch
import torch.distributed as dist

rank, size = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
torch.cuda.set_device(int(os.environ["SLURM_LOCALID"]))
dist.init_process_group("nccl", rank=rank, world_size=size)  # <-
dist.destroy_process_group()
""",
]

FINE = [
    """
import os
import subprocess
import torch
import torch.distributed as dist

rank, size = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
torch.cuda.set_device(int(os.environ["SLURM_LOCALID"]))
nodes = subprocess.check_output(["scontrol", "show", "hostnames", os.environ["SLURM_JOB_NODELIST"]], text=True)
os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = nodes.split()[0], "23456"
dist.init_process_group("nccl", rank=rank, world_size=size)
dist.destroy_process_group()
""",
]
