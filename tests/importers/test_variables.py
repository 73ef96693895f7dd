"""Variables that a ticket gives to a container, exports, or puts in front of a command."""

import pytest

HEAD = "| NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4 |\n"
POD = "containers:\n- env:\n  - name: NCCL_IB_HCA\n    value: mlx5_0\n  - name: NODE_RANK\n    value: '1'\n"


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("docker run --gpus all -e CUDA_VISIBLE_DEVICES=0,1 --env NCCL_P2P_DISABLE=1 -e HF_TOKEN=x image", 2),
        ("environment:\n  - CUDA_VISIBLE_DEVICES=0,1\n  - NCCL_P2P_DISABLE=1\nports:\n  - RANK=3\n", 2),
        ("environment:\n  CUDA_VISIBLE_DEVICES: 0,1\n  NCCL_P2P_DISABLE: '1'  # slow\n", 2),
        ("export NCCL_P2P_DISABLE=1  # slow\n", 1),
        ("NCCL_P2P_DISABLE=1 torchrun --nproc-per-node=2 train.py", 1),
        (
            "mpirun -np 16 -H a:8,b:8 -x NCCL_P2P_DISABLE=1 -x LD_LIBRARY_PATH -x NCCL_DEBUG=INFO python train.py",
            1,
        ),
        ("mpirun -np 16 \\\n  -x NCCL_P2P_DISABLE=1 \\\n  -x NCCL_IB_HCA=mlx5_0:1 \\\n  python train.py", 2),
        ("[2026-03-04 05:00:01,207] [INFO] [launch.py:138:main] 0 NCCL_P2P_DISABLE=1", 1),
        ("[2021-03-04 05:00:01,207] [INFO] [launch.py:71:main] 0 NCCL_P2P_DISABLE 1", 1),
    ],
)
def test_what_was_set(text, variables, facts_of):
    launch = facts_of(HEAD + text)["launch"].variables
    assert len(launch) == variables
    assert launch["NCCL_P2P_DISABLE"] == "1"
    assert launch.get("CUDA_VISIBLE_DEVICES", "0,1") == "0,1"


def test_a_pod(facts_of):
    assert facts_of(HEAD + POD)["launch"].variables == {"NCCL_IB_HCA": "mlx5_0"}


@pytest.mark.parametrize(("value", "read"), [("ERROR", True), ("1", True), ("info", False), ("WARN", False)])
def test_a_level_that_there_is_not_is_no_debugging(value, read, facts_of):
    launch = facts_of(HEAD + f"export NCCL_DEBUG={value}\nexport NCCL_IB_HCA=mlx5_0\n")["launch"].variables
    assert ("NCCL_DEBUG" in launch) is read


@pytest.mark.parametrize(
    "text",
    [
        "#export NCCL_P2P_DISABLE=1",
        "export NCCL_SOCKET_IFNAME=$(ip route | head -1)",
        "export MASTER_ADDR=node1\nexport RANK=0",
        "docker run -e NCCL_SOCKET_IFNAME=$IFACE image",
        "you may set NCCL_P2P_DISABLE=1 and see",
    ],
)
def test_what_nobody_set(text, facts_of):
    assert "launch" not in facts_of(HEAD + text)


def test_what_grep_leaves_out_of_env_is_not_missing(facts_of):
    shown = "NCCL_SOCKET_IFNAME=eth0\nMASTER_ADDR=10.0.0.1\nWORLD_SIZE=16\n"
    filtered = facts_of(f"$ env | grep -E 'NCCL|MASTER|WORLD'\n{shown}")["launch"].variables
    assert filtered == {"NCCL_SOCKET_IFNAME": "eth0"}
    assert facts_of(f"$ env\n{shown}")["launch"].variables["WORLD_SIZE"] == "16"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("~/mnist$ CUDA_VISIBLE_DEVICES=2 python main.py\nno CUDA-capable device is detected\n", "2"),
        ("I have `export CUDA_VISIBLE_DEVICES=2` there.\nRuntimeError: No CUDA GPUs are available\n", "2"),
        ("~/mnist$ CUDA_VISIBLE_DEVICES=2 python main.py\nit is slow\n", None),
        ("CUDA_VISIBLE_DEVICES=2 fails, CUDA_VISIBLE_DEVICES=0 works: invalid device ordinal\n", None),
    ],
)
def test_gpus_that_a_command_shows_to_a_program_which_finds_none(text, value, facts_of):
    launch = facts_of(HEAD + text).get("launch")
    assert (launch and launch.variables.get("CUDA_VISIBLE_DEVICES")) == value


NONE = "RuntimeError: No CUDA GPUs are available\n"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The launcher had CUDA_VISIBLE_DEVICES set to 4,5 in it.\n", "4,5"),
        ("In that shell CUDA_VISIBLE_DEVICES is `-1`.\n", "-1"),
        ("CUDA_VISIBLE_DEVICES was an empty string there\n", ""),
        ("CUDA_VISIBLE_DEVICES was not set to 3\n", None),
        ("If I set CUDA_VISIBLE_DEVICES to 1 it is found\n", None),
        ("CUDA_VISIBLE_DEVICES is 2.5 in the docs\n", None),
    ],
)
def test_the_gpus_that_a_sentence_says_were_visible(text, value, facts_of):
    facts = facts_of(text + NONE)
    assert (facts["launch"].variables if "launch" in facts else {}).get("CUDA_VISIBLE_DEVICES") == value


def test_without_a_failure_a_sentence_sets_nothing(facts_of):
    assert "launch" not in facts_of(HEAD + "The launcher had CUDA_VISIBLE_DEVICES set to 4,5 in it.\n")
