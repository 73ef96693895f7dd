"""A GPU must be reset before anything can run on it again.

## What happens

The kernel log has Xid 154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"; `nvidia-smi -q`
shows "GPU Recovery Action : Reset" (older drivers: "Reset Required : Yes"), and NVML answers "GPU requires reset". CUDA
sees fewer GPUs, or says "busy or unavailable" or "unknown error".

## Why

An earlier fault left the GPU in a state that the driver does not trust: a memory error, an NVLink error, a time-out of
its firmware, or many faults of a program. Its Xid comes before this one and is the reason; the reset comes first.

## How to tell

`nvidia-smi --query-gpu=index,uuid,gpu_recovery_action --format=csv` names the GPU and the action; drivers before 560
show it with `nvidia-smi -q | grep -iA2 reset`. `sudo dmesg -T | grep -i xid` shows what led to it. "None" is healthy.
"Drain P2P" goes away when the jobs that use its peers have ended; "Reboot" needs the whole node.

## See also

- [nvidia-smi](https://docs.nvidia.com/deploy/nvidia-smi/index.html): GPU Recovery Action
- [Xid catalogue](https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html): 154, and what led to it
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Gpu, Gpus, Pci

# NVML_GPU_RECOVERY_ACTION_*, and what to do for each.
ACTIONS = {
    "gpu_reset": "a reset of the GPU",
    "drain_and_reset": "its jobs to end, and then a reset",
    "bus_reset": "a reset of its PCIe bus",
    "node_reboot": "a reboot of the node",
    "system_reboot": "a reboot of the node",
    "recover_imex_domain": "its IMEX domain to be recovered",
    "drain_p2p": "the jobs that use its peers to end",
}
REBOOTS = ("node_reboot", "system_reboot")
LATER = ("drain_p2p",)
LEAVE_OUT = Fix(
    "On a cluster: leave this node out, and send the administrators its name and the line above",
    "sbatch --exclude=NODE job.sh",
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where only peer access waits for it; a note where a mode that was asked for waits for a reset",
    words_stand=True,
    symptoms=[
        r"\bXid \((?:PCI:)?(?P<address>[\w:.]+)\): 154,.{0,160} to 0x[1-9a-fA-F]\d* \((?P<action>[^)]{1,40})\)",
        r"GPU Recovery Action\s{0,60}: (?P<action>(?:GPU )?Reset|(?:Node )?Reboot|Drain\b.{0,20}|Recover\b.{0,20})",
        r"(?:Reset Required|Drain and Reset Recommended)\s{1,60}: Yes",
        r"GPU requires (?:reset|restart)\b",
        r"NVMLError_ResetRequired|\bNV_ERR_RESET_REQUIRED\b|NVML_ERROR_RESET_REQUIRED",
        r"the GPU is likely in a bad state and may need to be reset",
        r"uvm encountered global fatal error 0x\w{1,8}, requiring os (?P<action>reboot) to recover",
        r"[Tt]he following GPUs could not be reset",
    ],
    message="the driver has closed the GPU[ at <address>] until it is recovered[ (<action>)]: nothing can run on it",
    follows=["gpu-fell-off-bus", "gpu-ecc-error", "nvlink-errors"],
    fixes=[
        Fix("Use the other GPUs meanwhile", "export CUDA_VISIBLE_DEVICES=GPU,GPU"),
        LEAVE_OUT,
        Fix(
            "Reset it, with nothing running on it; where NVSwitch connects the GPUs, leave out -i and reset all",
            "sudo systemctl stop nvidia-persistenced nvidia-dcgm; sudo nvidia-smi --gpu-reset -i GPU; "
            "sudo systemctl start nvidia-persistenced nvidia-dcgm",
            Kind.ADMIN,
        ),
        Fix("Reboot the node where that is the action, or where the reset fails", "sudo reboot", Kind.ADMIN),
        Fix(
            "Under Slurm: take the node out until it is done",
            "sudo scontrol update nodename=NODE state=drain reason=gpu-reset",
            Kind.ADMIN,
        ),
    ],
    no_reproduction="needs a GPU that fails",
)


@check.environment
def environment(gpus: Gpus, pci: Pci | None) -> Iterator[Finding]:
    """NVML says that a GPU needs a reset, or which recovery it waits for."""
    needy = [gpu for gpu in gpus.devices if not gpu.gone and _waits_for(gpu)]
    if not needy:
        if gpus.silence(pci):
            raise CannotTell(gpus.silence(pci))
        yield from _modes(gpus)
        return
    wanted = {_waits_for(gpu) for gpu in needy}
    words = " and ".join(sorted(ACTIONS.get(action, action) for action in wanted))
    verb = "needs" if len(needy) == 1 else "need"
    closed = "nothing can run there before" if wanted - set(LATER) else "until then peer access is limited"
    severity = Severity.ERROR if wanted - set(LATER) else Severity.WARNING
    said = [
        f"{gpu.short}: recovery action {gpu.recovery_action}"
        for gpu in needy
        if gpu.recovery_action not in (None, "none")
    ]
    said += [f"{gpu.short}: {error}" for gpu in needy if gpu.reset_required for error in gpu.errors[:1]]
    message = f"{gpus.named(needy)} {verb} {words}: {closed}"
    yield check.found(message, severity=severity, evidence=said, fixes=_fixes(gpus, needy, wanted))


def _modes(gpus: Gpus) -> Iterator[Finding]:
    """Name the modes that were asked for and are in force only after the next reset."""
    for mode, option in (("ecc", "-e"), ("mig", "-mig")):
        now: dict[int, bool | None] = {gpu.index: getattr(gpu, mode) for gpu in gpus.read}
        later: dict[int, bool | None] = {gpu.index: getattr(gpu, f"{mode}_pending") for gpu in gpus.read}
        for wanted in (True, False):
            waiting = [
                gpu for gpu in gpus.read if now[gpu.index] is (not wanted) and later[gpu.index] is wanted
            ]
            if not waiting:
                continue
            words = (
                f"{mode.upper()} was turned {'on' if wanted else 'off'} for {gpus.named(waiting)} and is still "
                f"{'off' if wanted else 'on'}: the change takes effect at the next reset"
            )
            undo = f"sudo nvidia-smi -i {gpus.numbers(waiting)} {option} {int(not wanted)}"
            fixes = [_reset(gpus, waiting), Fix("Or take the change back", undo, Kind.ADMIN)]
            yield check.found(words, severity=Severity.NOTE, fixes=fixes)


def _waits_for(gpu: Gpu) -> str:
    """Return the action that a GPU waits for; empty: none."""
    if gpu.recovery_action not in (None, "none"):
        return str(gpu.recovery_action)
    return "gpu_reset" if gpu.reset_required else ""


def _fixes(gpus: Gpus, needy: list[Gpu], wanted: set[str]) -> list[Fix]:
    reboot = Fix("Reboot the node", "sudo reboot", Kind.ADMIN)
    fixes = (
        [reboot]
        if wanted & set(REBOOTS)
        else [_reset(gpus, needy), Fix("Reboot where the reset fails", "sudo reboot", Kind.ADMIN)]
    )
    if wanted <= set(LATER):
        fixes = [Fix("End the jobs on the GPUs of this node; it goes away by itself then", kind=Kind.ADMIN)]
    else:
        fixes.insert(0, LEAVE_OUT)
    if rest := gpus.without(needy):
        fixes.insert(0, Fix("Use the other GPUs meanwhile", f"export CUDA_VISIBLE_DEVICES={rest}"))
    return fixes


def _reset(gpus: Gpus, some: list[Gpu]) -> Fix:
    where = "with nothing running there; where NVSwitch connects the GPUs, leave out -i and reset all"
    command = f"sudo nvidia-smi --gpu-reset -i {gpus.numbers(some)}"
    return Fix(f"Reset {gpus.named(some)}, {where}", command, Kind.ADMIN)
