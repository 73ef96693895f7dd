"""A work-around of NCCL's is still set, and costs what it switches off.

## What happens

Training works, at a part of the speed that the machine has. Nothing in the log says so, but for one line of
`NCCL_DEBUG=INFO`: "via SHM/direct" or "via NET/Socket" where "via P2P" or "via NET/IB" could be.

## Why

Somebody avoided a hang or an error with a variable that switches a whole transport off, and nobody took it out again.
NVIDIA's documentation lists most of these under "Debugging", as what must not stay in scripts.

| variable | what it costs | is it still needed? |
|---|---|---|
| NCCL_P2P_DISABLE=1, NCCL_P2P_LEVEL=LOC | GPUs of one machine exchange through main memory: NVLink and peer access lie idle | `all_reduce_perf -b 8 -e 1G -f 2 -g 8` with and without: it hangs or reports wrong values, or it does not |
| NCCL_SHM_DISABLE=1 | what cannot use peer access goes over the network card, inside one machine | the same; `df /dev/shm` first |
| NCCL_IB_DISABLE=1, NCCL_NET=Socket | between machines TCP in the place of RDMA, which is many times slower | the same with two machines; `ibstat` first |
| NCCL_NET_GDR_LEVEL=LOC, NCCL_DMABUF_ENABLE=0 | every message between machines is copied through main memory | the same with two machines |
| NCCL_NVLS_ENABLE=0, NCCL_CUMEM_ENABLE=0 | no reductions inside the NVSwitches, no registered buffers | the same, on one machine |
| NCCL_ALGO, NCCL_PROTO | one choice for every size and number of ranks | the same, over all sizes |

## How to tell

Run NVIDIA's nccl-tests (`all_reduce_perf`) with the variable and without: same results, no hang, and a higher "busbw" without it, and it
can go.

## See also

- [NCCL: environment variables](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html): "Debugging" lists those that must not be kept
- [nccl-tests](https://github.com/NVIDIA/nccl-tests): all_reduce_perf
"""

import shlex
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Severity, count
from gpudoctor.facts import (
    Gpus,
    Launch,
    NcclConfiguration,
    Pci,
    Script,
    Setting,
    Torch,
    for_processors_alone,
    gpus_here,
    number,
    settings,
)

SWITCHES = {
    # name: (the value that is the work-around, what it costs, it matters with several GPUs in one machine)
    "NCCL_P2P_DISABLE": (1, "GPUs of one machine exchange their gradients through main memory", True),
    "NCCL_SHM_DISABLE": (1, "what has no peer access goes over the network card, inside one machine", True),
    "NCCL_P2P_DIRECT_DISABLE": (1, "one process with several GPUs copies where it could read directly", True),
    "NCCL_IB_DISABLE": (1, "machines exchange over TCP, however fast their InfiniBand or RoCE is", False),
    "NCCL_NVB_DISABLE": (1, "GPUs without an NVLink of their own cannot go through a neighbour", True),
    "NCCL_PXN_DISABLE": (1, "a GPU cannot use the network card beside another one", False),
    "NCCL_DMABUF_ENABLE": (0, "GPUDirect RDMA is left to nvidia_peermem", False),
    "NCCL_NVLS_ENABLE": (0, "the NVSwitches do not add up (NVLink SHARP)", True),
    "NCCL_CUMEM_ENABLE": (0, "no NVLink SHARP and no registered buffers, which stand on cuMem", True),
    "NCCL_CUMEM_HOST_ENABLE": (
        0,
        "host buffers are shared through /dev/shm, which must be large enough",
        True,
    ),
    "NCCL_MNNVL_ENABLE": (0, "machines of one NVLink domain exchange over the network", False),
    "NCCL_RAS_ENABLE": (0, "`ncclras` cannot tell which rank hangs", False),
}
# Libraries set these by themselves (vLLM NCCL_CUMEM_ENABLE=0, NeMo NCCL_NVLS_ENABLE=0, to save memory), or a part only is lost.
OFTEN_MEANT = {
    "NCCL_NVLS_ENABLE",
    "NCCL_CUMEM_ENABLE",
    "NCCL_CUMEM_HOST_ENABLE",
    "NCCL_RAS_ENABLE",
    "NCCL_MNNVL_ENABLE",
}
PINNED = (
    "NCCL_ALGO",
    "NCCL_PROTO",
    "NCCL_NTHREADS",
    "NCCL_MAX_NCHANNELS",
    "NCCL_MAX_CTAS",
    "NCCL_MAX_NRINGS",
)

MEASURE = Fix(
    "Set it where a machine needs it, and not in the script",
    "NCCL_P2P_DISABLE=1 torchrun --standalone --nproc-per-node=N train.py",
)

check = Check(
    severity=Severity.WARNING,
    otherwise="a note for what costs nothing here, for tuning, and in a script",
    fixes=[Fix("See what is set", "printenv | grep NCCL_; cat /etc/nccl.conf ~/.nccl.conf")],
)


@check.environment
def environment(
    launch: Launch,
    configuration: NcclConfiguration | None,
    torch: Torch | None,
    gpus: Gpus | None,
    pci: Pci | None,
) -> Iterator[Finding]:
    """A transport of NCCL's is switched off, or one choice of many is forced."""
    if torch is not None and torch.hip:
        return
    known = settings(launch, configuration)
    here = gpus_here(torch, gpus, pci)
    if here == 0 and not for_processors_alone(torch, gpus, pci):
        here = None  # a login node: how many GPUs its jobs get is not known
    for setting in known.values():
        costs = _costs(setting)
        if costs is None:
            continue
        words, within = costs
        severity, more = _weight(setting, within, here, gpus, launch)
        message = f"{setting}: {words}{more}; keep it only while a measurement shows that it is needed"
        yield check.found(message, severity=severity, fixes=_fixes(setting))
    for name in PINNED:
        if name in known and known[name].value.strip():
            message = f"{known[name]}: one choice for all sizes and numbers of ranks, where NCCL would choose the best for each"
            yield check.found(message, severity=Severity.NOTE, fixes=_fixes(known[name]))


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A script that switches a transport off for every machine it is run on."""
    for call in script.named("os.environ.__setitem__"):
        value = call.value("value").literal
        if call.variable not in SWITCHES or not isinstance(value, str) or not call.reached:
            continue
        switch, words, _ = SWITCHES[call.variable]
        tests = [test for test in call.conditions if test.kind != "main"]
        if number(value) == switch and not tests and call.variable not in OFTEN_MEANT:
            yield check.found(
                f"{call.variable}={value} is set for every machine that this script is run on: {words}; keep it only where a "
                "measurement shows that it is needed",
                severity=Severity.NOTE,
                location=call.place,
                fixes=[MEASURE],
            )


def _costs(setting: Setting) -> tuple[str, bool] | None:
    """Return what a work-around costs, and whether inside one machine; ``None`` for what is none."""
    name, value = setting.name, setting.value.strip()
    if name in SWITCHES:
        switch, words, within = SWITCHES[name]
        # Any number but 0 switches a DISABLE on, but for NCCL_P2P_DISABLE, of which 1 alone counts (paths.cc).
        read = number(value)
        exact = switch == 0 or name == "NCCL_P2P_DISABLE"
        on = read is not None and (read == switch if exact else read != 0)
        return (words, within) if on else None
    if name == "NCCL_P2P_LEVEL" and value in ("LOC", "0"):
        return SWITCHES["NCCL_P2P_DISABLE"][1], True
    if name == "NCCL_NET_GDR_LEVEL" and value in ("LOC", "0"):
        return "every message between machines is copied through main memory (no GPUDirect RDMA)", False
    if name == "NCCL_NET" and value.lower() == "socket":
        return SWITCHES["NCCL_IB_DISABLE"][1], False
    if name == "NCCL_NET_PLUGIN" and value.lower() == "none":
        return "the cloud's own network plug-in is left out, and EFA or its like is not used", False
    return None


def _weight(
    setting: Setting, within: bool, here: int | None, gpus: Gpus | None, launch: Launch
) -> tuple[Severity, str]:
    """Return how much it matters on this machine, and what of the machine says so."""
    if setting.name in OFTEN_MEANT:
        return Severity.NOTE, ""
    nodes = launch.nodes
    if not within:
        # Whether there are several machines shows in the launch alone.
        return (Severity.WARNING, f" ({nodes} nodes here)") if nodes and nodes > 1 else (Severity.NOTE, "")
    if here is not None and here < 2:
        return Severity.NOTE, f" (with {count(here, 'GPU')} here that changes nothing)"
    links = [gpu for gpu in gpus.devices if gpu.nvlinks_active] if gpus is not None else []
    if links and setting.name in ("NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL"):
        return Severity.WARNING, f", and the NVLinks of {count(len(links), 'GPU')} lie idle"
    if setting.name in ("NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL") and _no_peer_access(gpus):
        return Severity.NOTE, " (these GPUs have no peer access anyway)"
    return Severity.WARNING, ""


def _no_peer_access(gpus: Gpus | None) -> bool:
    states = {pair.p2p for pair in gpus.pairs if pair.p2p} if gpus is not None else set()
    return bool(states) and "OK" not in states


def _fixes(setting: Setting) -> list[Fix]:
    measure = Fix(
        "Measure with it and without it: no hang, no wrong value and a higher busbw without it, and it can go",
        f"all_reduce_perf -b 8 -e 1G -f 2 -g 8; env -u {setting.name} all_reduce_perf -b 8 -e 1G -f 2 -g 8",
    )
    if setting.where:
        return [
            measure,
            Fix(f"Take it out of {setting.where}", f"grep -n {setting.name} {shlex.quote(setting.where)}"),
        ]
    return [measure, Fix("Then do without it", f"unset {setting.name}")]
