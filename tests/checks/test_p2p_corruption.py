"""p2p-corruption: seen in logs and in measurements."""

from gpudoctor.facts import DeviceSpeed, Measurements, Missing, PeerCopy
from gpudoctor.guard import examine
from gpudoctor.model import Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

MESSAGE = "what one GPU sent is not what the other received: gradients and weights are wrong without an error"
EXAMPLES = {
    "a = torch.rand(3, device='cuda:0')\nprint(a); print(a.to('cuda:1'))\ntensor([0.5, 0.25, 0.75], device='cuda:0')\ntensor([0., 0., 0.], device='cuda:1')": "what one GPU sent is not what the other received: gradients and weights are wrong without an error",
    "Verification error @ element 1: val = 0.000000, ref = 4.000000": MESSAGE,
    "# Out of bounds values : 8 FAILED": MESSAGE,
    "[ 512.1] nvidia 0000:41:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0012 address=0xfe00 flags=0x0020]": MESSAGE,
    "NVRM: GPU 0000:41:00.0: peer copy\nAMD-Vi: Event logged [IO_PAGE_FAULT device=0000:41:00.0 domain=0x0012]": MESSAGE,
    (
        "nvidia-uvm: Loaded the UVM driver\nDMAR: [DMA Write NO_PASID] Request device [3b:00.0] fault addr 0x1000 "
        "[fault reason 0x05] PTE Write access is not set"
    ): MESSAGE,
    "DCGM_FR_BROKEN_P2P_MEMORY_DEVICE": MESSAGE,
    ">>> a\ntensor([1., 2., 3.], device='cuda:0')\n>>> a.to('cuda:1')\ntensor([0., 0., 0.], device='cuda:1')": MESSAGE,
}
NOT_THIS = [
    "# Out of bounds values : 0 OK",
    ">>> a\ntensor([0., 0., 0.], device='cuda:0')\n>>> a.to('cuda:1')\ntensor([0., 0., 0.], device='cuda:1')",
    "AMD-Vi: Event logged [IO_PAGE_FAULT device=0000:02:00.0 domain=0x0001]",
    "NCCL INFO P2P is disabled between connected GPUs 2 and 1.",
]


def run(*copies, gpus=2, missing=()):
    devices = [DeviceSpeed(ordinal=n) for n in range(gpus)]
    measured = Measurements(devices=devices, copies=list(copies), missing=list(missing))
    return examine(
        Registry().check("p2p-corruption"), Source.ENVIRONMENT, Snapshot({"measurements": measured})
    )


def test_wrong_data_between_two_gpus():
    sample = "element 0 is 0 and was sent as 1"
    wrong = PeerCopy(source=0, target=1, wrong_elements=96, checked_elements=96, sample=sample)
    _, [finding] = run(wrong, PeerCopy(source=1, target=0, wrong_elements=0))
    assert finding.message == (
        "96 of 96 elements that GPU 0 sent to GPU 1 arrived wrong (element 0 is 0 and was sent as 1): gradients and "
        "weights are wrong without an error"
    )


def test_a_copy_that_never_ends():
    _, [finding] = run(PeerCopy(source=1, target=0, error="no answer in 10 s"))
    assert finding.message.startswith("a copy from GPU 1 to GPU 0 did not end (no answer in 10 s)")


def test_right_copies_and_a_single_gpu_pass():
    result, findings = run(PeerCopy(source=0, target=1, wrong_elements=0))
    assert (result.status, findings) == (CheckStatus.PASSED, [])
    result, findings = run(
        gpus=1, missing=[Missing(what="copies between GPUs and NCCL", why="there is one GPU")]
    )
    assert (result.status, findings) == (CheckStatus.PASSED, [])


def test_unknown_where_no_copy_came_to_its_end():
    result, _ = run(PeerCopy(source=0, target=1, error="CUDA out of memory"))
    assert (result.status, "CUDA out of memory" in result.reason) == (CheckStatus.UNKNOWN, True)
    result, _ = run(missing=[Missing(what="copies between GPUs", why="12 pairs are left: no time was left")])
    assert (result.status, result.reason) == (CheckStatus.UNKNOWN, "12 pairs are left: no time was left")
