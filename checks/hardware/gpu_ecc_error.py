"""The GPU's memory returned data that error correction could not repair.

## What happens

CUDA says "uncorrectable ECC error encountered", and the kernel log has an Xid of the GPU: 48 (double bit error), 63 and
64 (a memory row or page is taken out of use, or could not be), 94 and 95 (contained to one program, or not), 140.

## Why

A memory cell is failing. The program was ended so that it does not go on with wrong numbers; other jobs on that GPU may
be hit next. Repeated errors mean that the card must be exchanged. Turning ECC off only hides them.

## How to tell

`nvidia-smi -q -d ECC,ROW_REMAPPER` shows the counters of each GPU, and whether a remapping is pending or has failed.
The address in "Xid (PCI:0000:10:1c)" is the `pci.bus_id` of `nvidia-smi --query-gpu=index,pci.bus_id --format=csv`.

What NVIDIA says to do:

| Xid | what to do |
| --- | --- |
| 94 | start the program again, and reset the GPU when it is idle |
| 64, 95, 140, and 48 without 94 | reset the GPU before anything else runs on it |
| 63 alone | nothing: the row is exchanged at the next reset |

"Remapping Failure Occurred: Yes" and "SRAM Threshold Exceeded: Yes" are cases for the vendor.

## See also

- [GPU memory error management](https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html): row remapping, error containment, when to return a card
- [Xid catalogue](https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html): 48, 63, 64, 94 and 95
"""

import re
from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, Sighting, Symptom, count
from gpudoctor.facts import Gpu, Gpus, KernelEvent, KernelLog, Pci
from gpudoctor.wordings import LISTED_XID, SAID_XID, TOLD_XIDS, XID_HAPPENED

NUMBER = r"(?P<xid>48|63|64|92|94|95|140|171|172)\b"
SEEN = re.compile(rf"\bXid \((?:PCI:)?(?P<address>[\w:.]+)(?: GPU-\S{{1,40}})?\): {NUMBER}")

# The gravest first: of several Xids that stand together, it is the one to act on.
MEANINGS = {
    95: "an error that reached beyond one program: reset the GPU before anything else runs on it",
    64: "a failing memory row or page could not be taken out of use: reset the GPU",
    140: "an error that could not be recovered: reset the GPU",
    48: "two bits of its memory flipped at once: the program was ended",
    94: "an error that was contained to one program: start it again, and reset the GPU when it is idle",
    171: "more on an uncorrectable error, in the main memory",
    172: "more on an uncorrectable error, in the chip's own memory",
    63: "a failing memory row or page is taken out of use, from the next reset on; nothing was lost by this alone",
    92: "many errors of single bits, all of them repaired so far",
}
RETIRED = 63
HIGH_RATE = 92
NOTES = (RETIRED, HIGH_RATE)
GRAVE, CONTAINED, REMAP_FAILED = (95, 64, 140, 48, 94), 94, 64
MANY_CORRECTED = 20_000_000
"""Since the driver was loaded: Azure's health checks count more as a sign of wear, Meta's only 50 million."""
MANY_SRAM = 4
"""Over the GPU's life, after which clusters exchange a card whose driver has no flag for it yet."""
LOOK = Fix("See all counters", "nvidia-smi -q -d ECC,ROW_REMAPPER")
LEAVE_OUT = Fix(
    "Start again from the last checkpoint without this node, and send the administrators its name and the line above",
    "sbatch --exclude=NODE job.sh",
)

check = Check(
    severity=Severity.ERROR,
    words_stand=True,
    otherwise="a warning where NVML says that it is over, a note for what was corrected or is repaired at the next reset",
    symptoms=[
        r"uncorrectable ECC error encountered",
        r"CUDA_ERROR_ECC_UNCORRECTABLE|cudaErrorECCUncorrectable",
        rf"\bXid \((?:PCI:)?(?P<address>[\w:.]+)(?: GPU-\S{{1,40}})?\): {NUMBER}",
        rf"caused by previous Xid {NUMBER}",
        rf"XidCriticalError: Xid={NUMBER}",
        rf"{SAID_XID}{NUMBER}",
        Symptom(rf"{LISTED_XID}{NUMBER}", near=TOLD_XIDS),
        rf"{LISTED_XID}{NUMBER}{XID_HAPPENED}",
        rf"DCGM_FI_DEV_XID_ERRORS\{{[^}}]{{0,400}}\}} {NUMBER}",
        r"\b(?:Row Remapper|Dynamic Page Retirement): (?:Fatal|Failed)|Row Remapper Error: ",
        r"\b(?P<retired>Row Remapper|Dynamic Page Retirement): New",
        r"(?:Remapping Failure Occurred|SRAM Threshold Exceeded)\s{1,60}: Yes",
        r"[DS]RAM Uncorrectable(?: Parity| SEC-DED)?\s{1,60}: [1-9]",
        r"Detected \d+ volatile double-bit ECC error|had uncorrectable memory errors",
        r"DCGM_FR_(?:VOLATILE_DBE_DETECTED|UNCONTAINED_ERROR|ROW_REMAP_FAILURE|SRAM_THRESHOLD)",
    ],
    fixes=[
        LEAVE_OUT,
        Fix("Find the GPU's number", "nvidia-smi --query-gpu=index,pci.bus_id,serial --format=csv"),
        Fix(
            "Reset it, with nothing running on it: this also puts a pending row remapping into effect",
            "sudo nvidia-smi --gpu-reset -i GPU && sudo dcgmi diag -r 3 -i GPU",
            Kind.ADMIN,
        ),
        Fix("Have the card exchanged where a remapping failed or the error returns", kind=Kind.ADMIN),
    ],
    no_reproduction="needs a GPU that fails",
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say what the Xid means; of several near each other, the gravest."""
    address, xid = sighting.groups.get("address"), int(sighting.groups.get("xid", "0"))
    near = {int(match["xid"]): match["address"] for match in SEEN.finditer(sighting.around)}
    worst = min({*near, xid} & MEANINGS.keys(), key=list(MEANINGS).index, default=0)
    if worst != xid:
        address, xid = near[worst], worst
    severity = None
    if xid:
        where = f" at {address}" if address else ""
        message = f"Xid {xid} of the GPU{where}: {MEANINGS[xid]}"
        severity = Severity.NOTE if xid in NOTES else None
    elif "retired" in sighting.groups:
        message, severity = f"the GPU: {MEANINGS[RETIRED]}", Severity.NOTE
    else:
        message = "the GPU's memory is failing; results computed on it cannot be trusted"
    yield check.found(message, severity=severity)


@check.environment
def environment(gpus: Gpus | None, log: KernelLog | None, pci: Pci | None) -> Iterator[Finding]:
    """Memory errors that could not be corrected since the driver was loaded, or more of the chip's own than allowed."""
    asked = gpus is not None
    gpus = gpus or Gpus()
    ill = [gpu for gpu in gpus.read if gpu.ecc_uncorrected or _worn(gpu)]
    if ill:
        yield _found(gpus, ill)
        return
    events = [event for event in log.of("xid") if event.code in GRAVE] if log is not None else []
    yield from (_logged(gpus, event) for event in events if not _known_better(gpus, event))
    corrected = [event for event in log.of("xid") if event.code == HIGH_RATE] if log is not None else []
    if corrected and not events:
        where = f" at {corrected[-1].pci_address}" if corrected[-1].pci_address else ""
        message = f"Xid {HIGH_RATE} of the GPU{where}: {MEANINGS[HIGH_RATE]}"
        yield check.found(message, severity=Severity.NOTE, evidence=[corrected[-1].text], fixes=[LOOK])
    many = [gpu for gpu in gpus.read if (gpu.ecc_corrected or 0) > MANY_CORRECTED]
    if many:
        said = [f"{gpu.short}: {gpu.ecc_corrected:,} corrected" for gpu in many]
        message = f"{gpus.named(many)}: many memory errors, all of them corrected so far"
        yield check.found(message, severity=Severity.NOTE, evidence=said, fixes=[LOOK])
    elif not asked and not events and not corrected:
        raise CannotTell("what NVML says of the GPUs is not known")
    elif not events and not corrected and gpus.silence(pci):
        raise CannotTell(gpus.silence(pci))


def _worn(gpu: Gpu) -> bool:
    """Return whether the chip's own memory failed too often: NVML's flag, or the count where NVML has no flag."""
    if gpu.sram_threshold_exceeded is not None:
        return gpu.sram_threshold_exceeded
    return (gpu.sram_uncorrected_aggregate or 0) > MANY_SRAM


def _found(gpus: Gpus, ill: list[Gpu]) -> Finding:
    worn = [gpu for gpu in ill if _worn(gpu)]
    said = []
    for gpu in ill:
        if gpu.ecc_uncorrected:
            said.append(f"{gpu.short}: {gpu.ecc_uncorrected} uncorrected since the driver was loaded")
        if _worn(gpu):
            passed = "SRAM Threshold Exceeded, " if gpu.sram_threshold_exceeded else "SRAM errors: "
            said.append(f"{gpu.short}: {passed}{gpu.sram_uncorrected_aggregate or 'some'} in all")
    total = sum(gpu.ecc_uncorrected or 0 for gpu in ill)
    what = (
        count(total, "memory error") + " that could not be corrected"
        if total
        else "the chip's own memory fails too often"
    )
    rest = gpus.without(ill)
    fixes = [Fix("Go on without it", f"export CUDA_VISIBLE_DEVICES={rest}")] if rest else []
    fixes += [LEAVE_OUT, LOOK]
    reset = f"sudo nvidia-smi --gpu-reset -i {gpus.numbers(ill)}"
    fixes.append(
        Fix(
            "Reset it, with nothing running on it, and test it",
            f"{reset} && sudo dcgmi diag -r 3",
            Kind.ADMIN,
        )
    )
    exchange = (
        "Have the card exchanged: so many errors in the chip's own memory are NVIDIA's condition"
        if worn
        else "Have the card exchanged if they return"
    )
    fixes.append(Fix(exchange, kind=Kind.ADMIN))
    return check.found(
        f"{gpus.named(ill)}: {what}; results computed there cannot be trusted", evidence=said, fixes=fixes
    )


def _logged(gpus: Gpus, event: KernelEvent) -> Finding:
    # What was reset since counts no error any more; the kernel's log still tells of it.
    well = any(
        gpu.pci_address.startswith(event.pci_address) and gpu.ecc_uncorrected == 0 for gpu in gpus.read
    )
    code = event.code or 0
    severity = Severity.WARNING if code == CONTAINED or (event.pci_address and well) else Severity.ERROR
    where = f" at {event.pci_address}" if event.pci_address else ""
    message = f"Xid {code} of the GPU{where}: {MEANINGS[code]}"
    return check.found(message, severity=severity, evidence=[event.text])


def _known_better(gpus: Gpus, event: KernelEvent) -> bool:
    """Return whether NVML's own flags tell of a failed remapping (Xid 64): they are the verdict, the log is not."""
    of = [gpu for gpu in gpus.read if event.pci_address and gpu.pci_address.startswith(event.pci_address)]
    return event.code == REMAP_FAILED and any(gpu.remapped_rows is not None for gpu in of)
