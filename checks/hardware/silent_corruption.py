"""Results are wrong, and nothing says so.

## What happens

No error, no Xid, no NaN at once. The loss is a little off, ranks drift apart, a run that was fine becomes NaN days later,
and another machine trains the same code well.

## Why

A GPU multiplies wrongly (a worn or badly cooled chip), memory without ECC keeps flipped bits, data changes on its way
over PCIe or NVLink, or a disk gives back other bytes than it was given. It is rare, and bound to single chips: Meta
counted 6 among the 419 interruptions of the training of Llama 3.

## How to tell

`gpudoctor check --deep` multiplies matrices of -1, 0 and 1, whose product is known to the last bit, sums a known pattern
by all-reduce in five types, and writes and reads a file: any difference is a finding. One clean run proves little: such a
fault may need heat, or one part of the chip. `gpudoctor repro ddp` holds the first gradients and five steps against one
device, and compares all bits of the ranks' parameters: of two right runs the gradients differ by about 1e-6 of their size,
since float32 additions are made in another order. It prints "wrong result: ..." where they differ by more.

## See also

- [The Llama 3 herd of models](https://arxiv.org/abs/2407.21783): its table of interruptions by cause
- [Understanding silent data corruption in LLM training](https://arxiv.org/html/2502.12340v1): what it does to a training
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, Sighting
from gpudoctor.facts import Measurements

AGAIN = Fix("Measure again, to see whether it is always the same part", "gpudoctor check --deep")
AWAY = Fix(
    "On a cluster: leave this node out, and send the administrators its name and this report",
    "sbatch --exclude=NODE job.sh",
)
COUNTERS = Fix("See what the GPUs' own counters say", "nvidia-smi -q -d ECC,ROW_REMAPPER,PAGE_RETIREMENT")
DIAGNOSIS = Fix("Have NVIDIA's own diagnosis look at it", "sudo dcgmi diag -r 3", Kind.ADMIN)
LEAVE_OUT = Fix(
    "Leave that GPU out (here GPU 0 of four), which costs its share",
    "export CUDA_VISIBLE_DEVICES=1,2,3",
    Kind.MITIGATION,
)
LOOK_AT_DISK = Fix(
    "See what the kernel says of that disk, and put checkpoints elsewhere",
    "sudo dmesg -T",
    Kind.ADMIN,
)

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"wrong result: (?P<difference>(?:the (?:gradients|parameters|accuracy)|after training, the parameters)\b.{0,300})"
    ],
    message="a training came to other numbers than one device would[: <difference>]",
    follows=["p2p-corruption", "gpu-ecc-error", "gpu-memory-unrepairable", "gpu-row-remap-failed"],
    fixes=[AGAIN, COUNTERS, AWAY, DIAGNOSIS, LOOK_AT_DISK, LEAVE_OUT],
    no_reproduction="needs hardware that computes wrongly",
)


@check.environment
def environment(measurements: Measurements) -> Iterator[Finding]:
    """Products, sums or files whose content is known came out otherwise."""
    found = [*_products(measurements), *_sums(measurements), *_files(measurements)]
    yield from found
    if not found and not _checked(measurements):
        raise CannotTell(next((missing.why for missing in measurements.missing), "nothing was computed"))


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """A training that was held against one device came to other numbers."""
    difference = sighting.groups["difference"]
    yield check.found(
        f"a training came to other numbers than one device would: {difference}",
        fixes=[AGAIN, COUNTERS, AWAY, DIAGNOSIS, LEAVE_OUT],
    )


def _products(measurements: Measurements) -> Iterator[Finding]:
    wrong = [device for device in measurements.devices if device.wrong_elements]
    if wrong:
        first = wrong[0]
        more = f"; so are those of {', '.join(d.place for d in wrong[1:])}" if len(wrong) > 1 else ""
        message = (
            f"{first.wrong_elements} of {first.checked_elements} elements of matrix products of {first.place} are wrong{more}: "
            "whatever it computes cannot be trusted"
        )
        yield check.found(
            message,
            fixes=[AGAIN, AWAY] if first.ordinal < 0 else [AGAIN, COUNTERS, AWAY, DIAGNOSIS, LEAVE_OUT],
        )


def _sums(measurements: Measurements) -> Iterator[Finding]:
    for collective in measurements.collectives:
        if collective.wrong:
            over = f" over {collective.interface}" if collective.interface else ""
            message = (
                f"an all-reduce of {collective.backend}{over} gave wrong sums ({collective.wrong[0]}): gradients would be "
                "wrong without any error"
            )
            yield check.found(
                message,
                evidence=collective.wrong[:8],
                fixes=[AGAIN, AWAY] if collective.backend == "gloo" else [AGAIN, COUNTERS, AWAY, DIAGNOSIS],
            )


def _files(measurements: Measurements) -> Iterator[Finding]:
    for disk in measurements.disks:
        if disk.wrong_bytes:
            message = (
                f"{disk.wrong_bytes} of {disk.size} bytes written to {disk.folder} were read back otherwise: checkpoints and "
                "data sets there cannot be trusted"
            )
            yield check.found(message, fixes=[LOOK_AT_DISK])


def _checked(measurements: Measurements) -> bool:
    return any(d.checked_elements for d in measurements.devices) or any(
        c.checked for c in measurements.collectives
    )
