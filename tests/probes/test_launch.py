"""The launch variables: an allow-list, and nothing that looks like a secret."""

import os
from collections.abc import Callable

import pytest

from gpudoctor.facts import Launch
from gpudoctor.snapshot import Snapshot

Ask = Callable[..., Snapshot]


def launch_of(snapshot: Snapshot) -> Launch:
    launch = snapshot.get(Launch)
    assert launch is not None, snapshot.probes
    return launch


WANTED = {
    "CUDA_VISIBLE_DEVICES": "0,1",
    "NCCL_SOCKET_IFNAME": "eth0",
    "NCCL_DEBUG": "INFO",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1",
    "TORCHELASTIC_RUN_ID": "none",
    "TORCHDYNAMO_DISABLE": "1",
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
    "GLOO_SOCKET_IFNAME": "eth0",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "29511",
    "RANK": "0",
    "WORLD_SIZE": "2",
    "LOCAL_RANK": "0",
    "LOCAL_WORLD_SIZE": "2",
    "GROUP_RANK": "0",
    "ROLE_RANK": "0",
    "SLURM_NNODES": "2",
    "SLURM_JOB_NODELIST": "node[1-2]",
    "OMP_NUM_THREADS": "1",
    "OMPI_COMM_WORLD_RANK": "0",
    "NVIDIA_VISIBLE_DEVICES": "all",
    "NCLL_DEBUG": "INFO",
    "OFI_NCCL_PROTOCOL": "RDMA",
    "CUDNN_LOGINFO_DBG": "1",
    "LD_DEBUG": "",
}
UNWANTED = {
    "AWS_SECRET_ACCESS_KEY": "planted",
    "HF_TOKEN": "planted",
    "WANDB_API_KEY": "planted",
    "MY_TORCH": "planted",
    "XCUDA_VISIBLE_DEVICES": "planted",
    "NCCLX": "planted",
    "OLD_RANK": "planted",
    "RANKS": "planted",
    "master_addr": "planted",
    "SLURM_JWT": "planted",
    "TORCH_HUB_TOKEN": "planted",
    "PYTORCH_API_KEY": "planted",
    "SLURM_DB_PASSWORD": "planted",
    "NCCL_PSK": "planted",
}


def test_launch_variables_are_read_and_nothing_else(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (WANTED | UNWANTED).items():
        monkeypatch.setenv(name, value)
    variables = launch_of(ask("launch")).variables
    assert {name: variables.get(name) for name in WANTED} == WANTED
    assert UNWANTED.keys().isdisjoint(variables)
    assert "planted" not in variables.values()


@pytest.mark.parametrize(
    "name", ["NCCL_SOCKET_NTHREADS", "TORCHINDUCTOR_CACHE_DIR", "SLURM_NTASKS", "CUDA_HOME"]
)
def test_a_name_that_only_resembles_a_secret_is_kept(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "7")
    assert launch_of(ask("launch")).variables[name] == "7"


def test_a_value_that_is_no_text_does_not_end_the_probe(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_HOME", os.fsdecode(b"/data/caf\xe9"))
    assert launch_of(ask("launch")).variables["TORCH_HOME"] == "/data/caf?"


def test_an_empty_environment_is_an_empty_answer(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in launch_of(ask("launch")).variables:
        monkeypatch.delenv(name)
    assert launch_of(ask("launch")).variables == {}


@pytest.mark.parametrize(
    ("text", "port"),
    [
        ("29500", 29500),
        (" 29500 ", 29500),
        ("0", 0),
        ("65536", None),
        ("-1", None),
        ("abc", None),
        ("", None),
        ("٣", None),
    ],
)
def test_a_master_port_is_a_port_or_nothing(text: str, port: int | None) -> None:
    assert Launch(variables={"MASTER_PORT": text}).master_port == port
