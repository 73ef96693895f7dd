"""A variable lets a failure hang without end, or hides it.

## What happens

A rank dies, and the others wait without end, at 100 % on every GPU, until the job's time is up. Or a fault of the hardware, which NCCL
would have refused to work with, becomes wrong numbers.

## Why

| variable | what it does |
|---|---|
| TORCH_NCCL_ASYNC_ERROR_HANDLING=0 | nobody ends the process when a collective fails or times out; the default is 3 |
| TORCH_NCCL_ENABLE_MONITORING=0, TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC of days | nobody ends a process whose watchdog hangs |
| TORCH_NCCL_BLOCKING_WAIT=1 | each `wait()` blocks the main thread until the collective is done: slow, and none of the asynchronous handling |
| NCCL_IB_TIMEOUT=0, or 32 and more | no time-out: NCCL waits without end for a lost packet |
| NCCL_COMM_ID | one address for every communicator, instead of those that torch gives out; made for programs with one communicator |
| NCCL_HOSTID | machines with the same one are taken for one machine |
| NCCL_IGNORE_DISABLED_P2P, NCCL_IGNORE_COLLNET_MISMATCH, NCCL_ENABLE_VERSION_CHECK=0 | NCCL goes on where it would stop with a reason |
| NCCL_MULTI_RANK_GPU_ENABLE=1 | two ranks on one GPU are no error any more: a wrong LOCAL_RANK goes unseen |
| NCCL_PROTO with LL128 | where NCCL does not choose it by itself the link is not known to keep 128 bytes together, and data may be corrupted |
| TORCHELASTIC_ERROR_FILE in a folder that is not there | a worker's own exception is followed by one about this file |
| LD_PRELOAD of a file that is not there, or of another architecture | the loader says "cannot be preloaded ... ignored" at the start of every program, and goes on without what it was to bring |
| KMP_DUPLICATE_LIB_OK=TRUE | two OpenMP runtimes side by side; Intel warns of crashes and wrong results |

torchrun itself sets TORCH_NCCL_ASYNC_ERROR_HANDLING=1: that is right.

## How to tell

`printenv | grep -E 'NCCL|TORCH|KMP'`, on every node: what one node alone has is worse still.

## See also

- [NCCL variables of torch](https://docs.pytorch.org/docs/stable/torch_nccl_environment_variables.html): what 0, 1, 2 and 3 do
- [NCCL: environment variables](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html): time-outs, NCCL_PROTO
- [pytorch#50820](https://github.com/pytorch/pytorch/issues/50820): NCCL_BLOCKING_WAIT makes training slow
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Severity
from gpudoctor.facts import Gpus, Launch, NcclConfiguration, Python, Setting, Torch, number, settings

DAY = 24 * 3600
IGNORED = {
    "NCCL_IGNORE_DISABLED_P2P": "NCCL goes on where NVML says that GPUs joined by NVLink cannot reach each other",
    "NCCL_IGNORE_COLLNET_MISMATCH": "NCCL goes on where some ranks have fewer CollNet devices than others",
}

check = Check(
    severity=Severity.WARNING,
    otherwise="a note for NCCL's under a torch without it",
    fixes=[Fix("See what is set, on every node", "printenv | grep -E 'NCCL|TORCH|KMP'")],
)


@check.environment
def environment(
    launch: Launch,
    configuration: NcclConfiguration | None,
    torch: Torch | None,
    gpus: Gpus | None,
    python: Python | None,
) -> Iterator[Finding]:
    """A variable is set to a value that is known to do harm."""
    known = settings(launch, configuration)
    # A new name of torch's wins over the old one (Utils.hpp); NCCL's own have one name.
    effective = {name: known[name] for name in known if f"TORCH_{name}" not in known}
    without_nccl = torch is not None and torch.imported and torch.cuda is None
    for setting, message, severity in [
        *_waits(effective),
        *_hidden(effective, gpus),
        *_lost_record(known, configuration),
        *_not_preloaded(known, python),
    ]:
        nccl = "NCCL" in setting.name
        weight = Severity.NOTE if nccl and without_nccl else severity
        yield check.found(
            f"{setting}: {message}",
            severity=weight,
            fixes=[Fix(setting.removal("Do without it: the default is right"), setting.removal_command)],
        )


def _waits(known: dict[str, Setting]) -> Iterator[tuple[Setting, str, Severity]]:
    """Yield what lets a failed training hang."""
    for prefix in ("TORCH_NCCL", "NCCL"):
        for name, bad, why in (
            ("ASYNC_ERROR_HANDLING", ("0",), "when a collective fails or times out nobody ends the process, and the other ranks wait without end"),
            ("BLOCKING_WAIT", ("1", "true", "yes", "t", "y"), "each wait() stops the main thread until the collective is done, which is slow"),
        ):  # fmt: skip
            setting = known.get(f"{prefix}_{name}")
            if setting is not None and setting.value.strip().lower() in bad:
                yield setting, why, Severity.WARNING
    monitoring = known.get("TORCH_NCCL_ENABLE_MONITORING")
    if monitoring is not None and monitoring.value.strip().lower() in ("0", "false", "no", "n", "f"):
        yield (
            monitoring,
            "a process whose NCCL watchdog hangs is never ended, and keeps its GPU",
            Severity.WARNING,
        )
    heartbeat = known.get("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC")
    seconds = _whole(heartbeat)
    if heartbeat is not None and seconds is not None and (seconds >= DAY or seconds < 1):
        words = (
            f"a hanging watchdog is noticed after {seconds / DAY:.0f} days"
            if seconds >= DAY
            else "the watchdog has no time to answer in, and a healthy process may be ended"
        )
        yield heartbeat, f"{words}; the default is eight minutes", Severity.WARNING
    timeout = known.get("NCCL_IB_TIMEOUT")
    value = _whole(timeout)
    if timeout is not None and value is not None and (value <= 0 or value >= 32):
        yield (
            timeout,
            "0, and 32 and more, are no time-out: NCCL waits without end for a packet that is lost",
            Severity.WARNING,
        )
    retries = known.get("NCCL_IB_RETRY_CNT")
    if retries is not None and _whole(retries) == 0:
        yield retries, "the first packet that is lost ends the training", Severity.WARNING


def _hidden(known: dict[str, Setting], gpus: Gpus | None) -> Iterator[tuple[Setting, str, Severity]]:
    """Yield what hides a fault, or makes one of another launch's leftovers."""
    if "NCCL_COMM_ID" in known and known["NCCL_COMM_ID"].value:
        why = "every communicator of this job uses that one address, in the place of what torch hands round"
        yield known["NCCL_COMM_ID"], f"{why}; left behind by another job, it leads nowhere", Severity.WARNING
    if "NCCL_HOSTID" in known and known["NCCL_HOSTID"].value:
        why = "machines that share it are taken for one, and look for each other's shared memory"
        yield known["NCCL_HOSTID"], why, Severity.WARNING
    for name, why in IGNORED.items():
        if name in known and number(known[name].value):
            yield known[name], f"{why}: what is wrong there stays", Severity.WARNING
    check_versions = known.get("NCCL_ENABLE_VERSION_CHECK")
    if check_versions is not None and _whole(check_versions) == 0:
        yield check_versions, "NCCL goes on where ranks have different versions of it", Severity.WARNING
    shared = known.get("NCCL_MULTI_RANK_GPU_ENABLE")
    if shared is not None and number(shared.value):
        yield (
            shared,
            "two ranks on one GPU are no error any more, and a wrong LOCAL_RANK goes unseen",
            Severity.WARNING,
        )
    protocol = known.get("NCCL_PROTO")
    forced = protocol is not None and not protocol.value.startswith("^") and "ll128" in protocol.value.lower()
    linked = gpus is not None and any(gpu.nvlinks_active for gpu in gpus.devices)
    if protocol is not None and forced and gpus is not None and len(gpus.devices) > 1 and not linked:
        why = "LL128 needs links that keep 128 bytes together, as NVLink does; over others data may be corrupted"
        yield protocol, why, Severity.WARNING
    duplicate = known.get("KMP_DUPLICATE_LIB_OK")
    if duplicate is not None and duplicate.value.strip().lower() in ("true", "1", "yes", "on"):
        yield (
            duplicate,
            "two OpenMP runtimes may run side by side; Intel warns of crashes and wrong results",
            Severity.NOTE,
        )
    recorder = known.get("TORCH_FR_BUFFER_SIZE") or known.get("TORCH_NCCL_TRACE_BUFFER_SIZE")
    if recorder is not None and recorder.value.strip() == "0":
        yield (
            recorder,
            "the flight recorder is off, and a hang leaves no record of who waited for whom",
            Severity.NOTE,
        )


def _lost_record(
    known: dict[str, Setting], configuration: NcclConfiguration | None
) -> Iterator[tuple[Setting, str, Severity]]:
    """Yield the flight recorder's file and pipe, and the launcher's, where they cannot be made: torch makes no folder."""
    names = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
    setting = next((known[name] for name in names if name in known), None)
    if setting is not None and configuration is not None and (why := configuration.refusal(setting)):
        yield (
            setting,
            f"its folder cannot be written to ({why}), and a hang leaves no record of who waited for whom",
            Severity.WARNING,
        )
    pipe = known.get("TORCH_NCCL_DEBUG_INFO_PIPE_FILE")
    if pipe is not None and configuration is not None and (why := configuration.refusal(pipe)):
        # libtorch_cuda: "Error creating named pipe"
        words = f"its folder cannot be written to ({why}), and torch raises where it cannot make the pipe"
        yield pipe, words, Severity.WARNING
    error = known.get("TORCHELASTIC_ERROR_FILE")
    if error is not None and configuration is not None and (why := configuration.refusal(error)):
        # torch.distributed.elastic's record(): the file is opened while the exception is handled
        words = (
            f"it cannot be written ({why}): a worker that ends with an exception ends with another one about this file, "
            "and the launcher's summary has no cause"
        )
        yield error, words, Severity.WARNING


def _not_preloaded(
    known: dict[str, Setting], python: Python | None
) -> Iterator[tuple[Setting, str, Severity]]:
    """Yield LD_PRELOAD where the loader left out what it names."""
    setting = known.get("LD_PRELOAD")
    if setting is not None and python is not None and python.not_preloaded:
        why = (
            f"the loader could not load {', '.join(python.not_preloaded)}, says so at the start of every program "
            '("cannot be preloaded"), and goes on without what it was to bring'
        )
        yield setting, why, Severity.WARNING


def _whole(setting: Setting | None) -> int | None:
    """Return a value that is a number and nothing else; another one is nccl-variable-unknown."""
    text = setting.value.strip() if setting is not None else ""
    return int(text) if text.lstrip("+-").isdecimal() and text.isascii() and len(text) < 15 else None
