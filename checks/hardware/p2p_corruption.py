"""Copies between GPUs arrive with wrong data.

## What happens

A tensor that is moved from `cuda:0` to `cuda:1` holds zeros or old data there, without any error. Training is right on
one GPU, and on several the loss is NaN or does not fall. `simpleP2P` of the CUDA samples says "Verification error",
nccl-tests "Out of bounds values : 8 FAILED", and the kernel log may have `IO_PAGE_FAULT` at the time of the copy.

## Why

GPUs copy to each other over PCIe, and something on the way sends the data elsewhere: an IOMMU that translates
addresses, access control (ACS) on PCIe bridges, a virtual machine, or a driver that reports peer access for cards that
do not have it: early drivers for GeForce 40 (NVIDIA's fix is reported to be 525.105.17), and patched drivers.

## How to tell

`python -c "import torch; a = torch.arange(9., device='cuda:0'); print((a.to('cuda:1').cpu() == a.cpu()).all())"` must
print True. `gpudoctor check --deep` writes patterns between every two GPUs and reads them back.
`cat /sys/bus/pci/devices/*/iommu_group/type | sort | uniq -c` shows `DMA` where the IOMMU translates and `identity`
where it does not.

## See also

- [NCCL: GPU troubleshooting](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/gpu_troubleshooting.html): how to find and turn off ACS, and the false grants of peer access
- [pytorch 84803](https://github.com/pytorch/pytorch/issues/84803): with the IOMMU off, the copies were right
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, Symptom, count
from gpudoctor.facts import Measurements, PeerCopy

VALUES = r"tensor\(\[(?=[^\]]{0,200}[1-9])[^\]]{1,200}\], device='cuda:0'\)"
ZEROS = r"tensor\(\[0\.(?:, *0\.){0,20}\], device='cuda:[1-9]\d?'\)"
NVIDIA = r"nvidia|NVRM|NCCL|[Cc]uda|CUDA"

CRAWLS = 0.5
"""GB/s. One lane of PCIe 3 carries 0.98."""

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"Verification error @ element \d+: val = ",
        r"Out of bounds values ?: [1-9]\d* FAILED",
        r"nvidia [0-9a-fA-F:.]{7,16}: .{0,40}IO_PAGE_FAULT",
        Symptom(r"Event logged \[IO_PAGE_FAULT\b", near=NVIDIA),
        Symptom(r"DMAR: \[DMA (?:Read|Write)\b.{0,160}PTE (?:Read|Write) access is not set", near=NVIDIA),
        r"DCGM_FR_BROKEN_P2P_\w+",
        # a Python session: a tensor with values on cuda:0, and nothing but zeros after the copy
        Symptom(
            ZEROS,
            near=VALUES + r"[\s\S]{0,400}\.(?:to|cuda)\((?:['\"]cuda:)?[1-9]\d?['\"]?\)[\s\S]{0,80}" + ZEROS,
        ),
        # what a script printed, beside the script
        Symptom(ZEROS, near=r"(?=[\s\S]*\.(?:to|cuda)\()[\s\S]*" + VALUES + r"\s{1,8}" + ZEROS),
    ],
    message="what one GPU sent is not what the other received: gradients and weights are wrong without an error",
    fixes=[
        Fix(
            "Prove it: this must print True",
            "python -c \"import torch; a = torch.arange(9., device='cuda:0'); "
            "print((a.to('cuda:1').cpu() == a.cpu()).all())\"",
        ),
        Fix(
            "On a cluster: leave this node out, and send the administrators its name and what it printed",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix(
            "Let the IOMMU pass addresses through (kernel parameter, then reboot), or turn it off in the firmware",
            "sudo sed -i 's/^GRUB_CMDLINE_LINUX=\"/&iommu=pt /' /etc/default/grub && sudo update-grub",
            Kind.ADMIN,
        ),
        Fix(
            "Turn ACS off on every PCIe bridge above the GPUs",
            "sudo setpci -s BRIDGE ECAP_ACS+6.w=0000",
            Kind.ADMIN,
        ),
        Fix(
            "On GeForce 40: install a current driver, unpatched, and restart (on Ubuntu; elsewhere its package)",
            "sudo apt install nvidia-driver-580 && sudo reboot",
            Kind.ADMIN,
        ),
        Fix(
            "Keep NCCL from peer copies, which is slower; torch's own copies between GPUs stay wrong",
            "export NCCL_P2P_DISABLE=1",
            Kind.MITIGATION,
        ),
    ],
    no_reproduction="needs 2 GPUs between which data is corrupted",
)


@check.environment
def environment(measurements: Measurements) -> Iterator[Finding]:
    """What one GPU sent is not what the other received, or the copy between them never ended."""
    if len(measurements.gpus) == 1:
        return
    wrong = [copy for copy in measurements.copies if copy.wrong_elements]
    hung = [copy for copy in measurements.copies if copy.error and "no answer" in copy.error]
    if wrong:
        first = wrong[0]
        more = f", and between {count(len(wrong) - 1, 'more pair')}" if len(wrong) > 1 else ""
        message = (
            f"{first.wrong_elements} of {first.checked_elements} elements that GPU {first.source} sent to GPU {first.target} "
            f"arrived wrong{more} ({first.sample}): gradients and weights are wrong without an error"
        )
        yield check.found(message, evidence=[_words(copy) for copy in wrong[:16]])
    elif hung:
        first = hung[0]
        more = f", nor between {count(len(hung) - 1, 'more pair')}" if len(hung) > 1 else ""
        message = (
            f"a copy from GPU {first.source} to GPU {first.target} did not end ({first.error}){more}: training over these "
            "GPUs hangs"
        )
        yield check.found(message, evidence=[_words(copy) for copy in hung[:16]])
    elif slow := [
        copy for copy in measurements.copies if copy.peer_access and 0 < (copy.speed or 0) < CRAWLS
    ]:
        first = slow[0]
        more = f", and {count(len(slow) - 1, 'more pair')} no faster" if len(slow) > 1 else ""
        message = (
            f"GPU {first.source} sends to GPU {first.target} with peer access, and {first.speed:.2f} GB/s arrive{more}: "
            "something between them redirects the transfers, and collectives crawl, hang or come out wrong"
        )
        yield check.found(message, evidence=[_words(copy) for copy in slow[:16]])
    elif why := next((copy.error for copy in measurements.copies if copy.error), None):
        raise CannotTell(f"not all copies between GPUs came to their end: {why}")
    elif why := measurements.why("copies between GPUs"):
        raise CannotTell(why)
    elif not measurements.copies:
        raise CannotTell(measurements.why("GPU") or "no copies between GPUs were made")


def _words(copy: PeerCopy) -> str:
    slow = f"{copy.speed:.2f} GB/s" if copy.speed is not None and copy.wrong_elements is None else ""
    said = copy.error or slow or f"{copy.wrong_elements} of {copy.checked_elements} wrong, {copy.sample}"
    return f"GPU {copy.source} -> GPU {copy.target}: {said}"
