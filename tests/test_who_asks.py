"""Run by a rank, a prolog or a pod: one line or none, that process's own limits and variables, the right exit code."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.cli.ranks import said_by_rank
from gpudoctor.facts import Launch
from gpudoctor.model import Finding, Severity
from gpudoctor.report import Report, Status, Verdict
from tests.warm_python import warm_environment, warm_python

GPUDOCTOR = [sys.executable, "-m", "gpudoctor"]
QUICK = ["--only", "nofile-limit", "--only", "rendezvous-env-missing", "--only", "rank-out-of-range"]
BARE = {"LANG": "C"}


def ask(
    arguments: list[str], environment: dict[str, str], **more: object
) -> "subprocess.CompletedProcess[str]":
    """Run it without a terminal, with this environment alone."""
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        [*GPUDOCTOR, "check", *arguments], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=60, start_new_session=True, **more,
    )  # fmt: skip


def report(launch: dict[str, str], family: str = "", status: Status = Status.BROKEN) -> Report:
    found = [Finding(id="x", family=family, title="X", severity=Severity.ERROR, message="m", page="p")]
    return Report(
        facts={"launch": Launch(variables=launch)},
        findings=found if family else [],
        verdict=Verdict(status=status, sentence="S."),
    )


RANK_3 = {"RANK": "11", "LOCAL_RANK": "3", "WORLD_SIZE": "16"}
FIRST_OF_NODE = {"RANK": "8", "LOCAL_RANK": "0", "WORLD_SIZE": "16"}
TASK = {"SLURM_STEP_ID": "0", "SLURM_PROCID": "5", "SLURM_LOCALID": "1", "SLURM_STEP_NUM_TASKS": "8"}


@pytest.mark.parametrize(
    ("told", "line"),
    [
        (report({}, "driver"), "S.\n"),
        (report({**RANK_3, "WORLD_SIZE": "1"}, "driver"), "S.\n"),
        (report(RANK_3, "driver"), ""),
        (report(FIRST_OF_NODE, "driver"), "rank 8: S.\n"),
        (report(RANK_3, "launch"), "rank 11: S.\n"),
        (report(TASK, "network"), ""),
        (report(TASK, "launch"), "rank 5: S.\n"),
        (report({**RANK_3, "RANK": "0"}, status=Status.HEALTHY), "S.\n"),
        (report(FIRST_OF_NODE, status=Status.HEALTHY), ""),
        (report({"SLURM_PROCID": "0", "SLURM_NTASKS": "8"}, "driver"), "S.\n"),  # a batch script
    ],
)
def test_what_all_ranks_would_say_is_said_once(told: Report, line: str) -> None:
    assert said_by_rank(told, "S.\n") == line


def test_without_home_terminal_and_path() -> None:
    answer = ask(["-q", *QUICK], BARE)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.count("\n") == 1


def test_a_rank_sees_its_own_variables() -> None:
    answer = ask(["-q", *QUICK], {**BARE, "RANK": "9", "WORLD_SIZE": "4", "LOCAL_RANK": "1"})
    assert (answer.returncode, answer.stdout) == (1, "rank 9: Most likely cause: rank-out-of-range.\n")


def test_a_healthy_rank_says_nothing() -> None:
    launch = {
        "RANK": "2",
        "WORLD_SIZE": "4",
        "LOCAL_RANK": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "1",
    }
    answer = ask(["-q", *QUICK], {**BARE, **launch})
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")


def test_a_process_sees_its_own_limits() -> None:
    def lower() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))

    answer = ask(["-q", *QUICK], BARE, preexec_fn=lower)
    assert (answer.returncode, answer.stdout) == (1, "Most likely cause: nofile-limit.\n")


def test_on_a_read_only_system_without_a_place_for_temporary_files(tmp_path: Path) -> None:
    script = 'mount -o bind / /mnt && mount -o remount,ro,bind / && cd / && exec "$@"'
    command = [
        "unshare",
        "-m",
        "--propagation",
        "private",
        "sh",
        "-c",
        script,
        "sh",
        *GPUDOCTOR,
        "check",
        "-q",
    ]
    answer = subprocess.run(
        [*command, *QUICK],
        env={**BARE, "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
    )
    if "unshare" in answer.stderr or "mount" in answer.stderr:
        pytest.skip(f"needs a mount namespace (root): {answer.stderr.strip()}")
    assert (answer.returncode, answer.stderr) == (0, "")


def test_under_torchrun_its_store_is_no_stranger() -> None:
    torchrun = [
        warm_python(),
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--no-python",
        "--nproc-per-node=2",
    ]
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs torch")
    command = [
        *torchrun,
        *GPUDOCTOR,
        "check",
        "-q",
        *QUICK,
        "--only",
        "port-in-use",
        "--only",
        "rendezvous-env-missing",
    ]
    environment = {**os.environ, **warm_environment(), "OMP_NUM_THREADS": "1"}
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert answer.stdout.count("\n") == 1
