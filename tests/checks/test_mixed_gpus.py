"""mixed-gpus: seen in logs, and in what NVML tells."""

from gpudoctor.facts import Gpu, Gpus, Launch, Pci
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("mixed-gpus")
EXAMPLES = {
    (
        "/data/env/lib/python3.11/site-packages/torch/nn/parallel/data_parallel.py:33: UserWarning: \n"
        "    There is an imbalance between your GPUs. You may want to exclude GPU 1 which\n"
        "    has less than 75% of the memory or cores of GPU 0. You can do so by setting\n"
        "    the device_ids argument to DataParallel, or by setting the CUDA_VISIBLE_DEVICES\n"
        "    environment variable."
    ): (
        "the GPUs differ: GPU 1 has much less memory or fewer cores than the best; every step waits for the "
        "slowest, and the batch must fit the smallest"
    ),
    (
        "WARNING 03-04 10:00:00 [cuda.py:450] Detected different devices in the system: NVIDIA A100-PCIE-40GB, NVIDIA A10. "
        "Please make sure to set `CUDA_DEVICE_ORDER=PCI_BUS_ID` to avoid unexpected behavior."
    ): (
        "the GPUs differ: NVIDIA A100-PCIE-40GB, NVIDIA A10; every step waits for the slowest, and the batch "
        "must fit the smallest"
    ),
    (
        "GPU models and configuration: \nGPU 0: NVIDIA GeForce RTX 3090\nGPU 1: NVIDIA GeForce RTX 3090\n"
        "GPU 2: NVIDIA GeForce GTX 1080 Ti\n\nNvidia driver version: 535.54"
    ): (
        "the GPUs differ: NVIDIA GeForce RTX 3090 and NVIDIA GeForce GTX 1080 Ti; every step waits for the "
        "slowest, and the batch must fit the smallest"
    ),
    "GPU 0: NVIDIA RTX A6000 (UUID: GPU-00000000-1111)\nGPU 1: NVIDIA RTX A5000 (UUID: GPU-00000000-2222)": (
        "the GPUs differ: NVIDIA RTX A6000 and NVIDIA RTX A5000; every step waits for the slowest, and the "
        "batch must fit the smallest"
    ),
}
NOT_THIS = [
    "GPU models and configuration: \nGPU 0: NVIDIA GeForce RTX 3090\nGPU 1: NVIDIA GeForce RTX 3090\n\nNvidia driver",
    "GPU 0: NVIDIA RTX A6000 (UUID: GPU-00000000-1111)\nGPU 1: NVIDIA RTX A6000 (UUID: GPU-00000000-2222)",
    "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-00000000-1111)\n  MIG 3g.40gb     Device  0: (UUID: MIG-00000000-1111)",
    "GPU memory imbalance: GPU 0 uses 20 GB more than the others",
]


def run(*devices, **facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"gpus": Gpus(devices=list(devices)), **facts}))


A100 = Gpu(index=0, name="A100", memory_bytes=80 << 30, ecc=True)
T4 = Gpu(index=1, name="T4", memory_bytes=16 << 30, ecc=True)


def test_found_in_the_facts():
    _, [finding] = run(A100, T4)
    assert finding.message.startswith("the GPUs differ: 1 x A100, 1 x T4; every step waits for the slowest")
    assert "CUDA_VISIBLE_DEVICES=0 torchrun" in finding.fixes[0].command
    _, [finding] = run(A100, Gpu(index=1, name="A100", memory_bytes=40 << 30))
    assert "differ in memory: 40.0 GiB to 80.0 GiB" in finding.message
    _, [finding] = run(A100, Gpu(index=1, name="A100", memory_bytes=80 << 30, ecc=False))
    assert "ECC is off on GPU 1" in finding.message


def test_a_card_for_the_screen_is_a_note():
    four = [Gpu(index=n, name="NVIDIA A100-SXM4-80GB", memory_bytes=80 << 30) for n in range(4)]
    _, [finding] = run(*four, Gpu(index=4, name="NVIDIA DGX Display", memory_bytes=4 << 30))
    assert finding.severity is Severity.NOTE
    assert "NVIDIA DGX Display is for the screen" in finding.message


def test_passes():
    nearly = Gpu(index=1, name="A100", memory_bytes=79 << 30)
    chosen = {"launch": Launch(variables={"CUDA_VISIBLE_DEVICES": "1"})}
    for result, _ in (
        run(A100),
        run(A100, nearly),
        run(A100, Gpu(index=1, lost=True)),
        run(A100, T4, **chosen),
    ):
        assert result.status is CheckStatus.PASSED


def test_unknown_where_nvml_says_nothing():
    for facts in ({}, {"gpus": Gpus(error="Unknown Error", error_code=999)}):
        result, _ = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
        assert result.status is CheckStatus.UNKNOWN


def test_passes_without_a_gpu_on_the_bus():
    result, _ = run(gpus=Gpus(error="NVML Shared Library Not Found", error_code=12), pci=Pci())
    assert result.status is CheckStatus.PASSED
