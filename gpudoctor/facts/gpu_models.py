"""What models of GPU should give: a table with a source for each figure. A model that is not in it is not judged."""

import re

from msgspec import Struct

AZURE = "Azure's node health checks (conf/*.conf of Azure/azurehpc-health-checks)"
DCGM = "DCGM's own minimum of its memory bandwidth test (diag-skus.yaml)"
DATA_SHEET = "NVIDIA's data sheet; the least is 55 % of it, as DCGM asks of A100 and H100"
ENGINEERING = "best product found by stas00/ml-engineering (MAMF); the least is 60 % of it"
# DCGM's table is wrong by a factor of 10 to 1000 for H200, L40 and the A100 of 40 GB: those rows have none from there.


class Expected(Struct, frozen=True):
    """What a model should give, and below what something is wrong with it."""

    usual: float
    least: float
    source: str


class GpuModel(Struct, frozen=True, kw_only=True):
    """Figures of one model; ``None``: no source is known to us."""

    name: str
    pattern: str
    """Regular expression that the name from the driver matches; MIG instances match none."""
    memory: Expected | None = None
    """GB/s, read and written together."""
    matrix_product: Expected | None = None
    """TFLOPS of bfloat16 without sparsity."""
    pcie: int | None = None
    """Generation of a link with 16 lanes that the boards of this model have; ``None``: they differ."""
    nvlink: float | None = None
    """GB/s of one NVLink in one direction."""
    bridged: int | None = None
    """Links of a card that is sold with its bridges: the data sheet's 600 or 900 GB/s over the 50 of a link."""
    all_reduce: Expected | None = None
    """GB/s of bus bandwidth of all-reduce among the eight GPUs of a board."""


def _memory(usual: float, least: float | None = None) -> Expected:
    return Expected(usual, least or usual * 0.55, DCGM if least else DATA_SHEET)


def _matrix(usual: float) -> Expected:
    return Expected(usual, usual * 0.6, ENGINEERING)


def _all_reduce(passes: float) -> Expected:
    """Azure's threshold is for 16 GiB on tuned machines; half a GiB and NCCL without NVLS give 70 % of that."""
    return Expected(passes, passes * 0.65, f"{AZURE}; the least is 65 % of it")


MODELS = (
    GpuModel(
        name="Tesla V100 SXM2",
        pattern=r"V100-SXM[23]",
        memory=_memory(900, 607.5),
        pcie=3,
        nvlink=25,
        all_reduce=_all_reduce(110),
    ),
    GpuModel(name="Tesla V100 PCIe", pattern=r"V100-PCIE", memory=_memory(900, 607.5), pcie=3),
    GpuModel(
        name="A100 SXM 40 GB",
        pattern=r"A100-SXM4-40GB",
        memory=_memory(1555),
        matrix_product=_matrix(271),
        pcie=4,
        nvlink=25,
        all_reduce=_all_reduce(228),
    ),
    GpuModel(
        name="A100 SXM 80 GB",
        pattern=r"A100-SXM4-80GB",
        memory=_memory(2039, 1173),
        matrix_product=_matrix(271),
        pcie=4,
        nvlink=25,
        all_reduce=_all_reduce(228),
    ),
    GpuModel(
        name="A100 PCIe 40 GB", pattern=r"A100-PCIE-40GB", memory=_memory(1555), matrix_product=_matrix(253)
    ),
    GpuModel(
        name="A100 PCIe 80 GB",
        pattern=r"A100 80GB PCIe",
        memory=_memory(1935),
        matrix_product=_matrix(253),
        nvlink=25,
    ),
    GpuModel(
        name="H100 SXM",
        pattern=r"H100 80GB HBM3",
        memory=_memory(3350, 1905),
        matrix_product=_matrix(794),
        pcie=5,
        nvlink=25,
        all_reduce=_all_reduce(460),
    ),
    GpuModel(name="H100 PCIe", pattern=r"H100 PCIe", memory=_memory(2000), nvlink=25),
    GpuModel(name="H100 NVL", pattern=r"H100 NVL", memory=_memory(3938), nvlink=25, bridged=12),
    GpuModel(name="H200 NVL", pattern=r"H200 NVL", memory=_memory(4800), nvlink=25, bridged=18),
    GpuModel(
        name="H200 SXM",
        pattern=r"\bH200$",
        memory=_memory(4800),
        matrix_product=_matrix(794),
        pcie=5,
        nvlink=25,
        all_reduce=_all_reduce(431),
    ),
    GpuModel(name="GH200", pattern=r"GH200", matrix_product=_matrix(829)),
    GpuModel(
        name="B200",
        pattern=r"^NVIDIA B200$",
        memory=_memory(8000, 4072.5),
        matrix_product=_matrix(1745),
        pcie=5,
        nvlink=50,
    ),
    GpuModel(
        name="B300", pattern=r"^NVIDIA B300\b", memory=_memory(8000), matrix_product=_matrix(1769), nvlink=50
    ),
    GpuModel(name="GB200", pattern=r"GB200", memory=_memory(8000), matrix_product=_matrix(1822), nvlink=50),
    GpuModel(name="L40S", pattern=r"L40S", memory=_memory(864, 525)),
    GpuModel(name="L4", pattern=r"\bL4$", memory=_memory(300, 198.5)),
    GpuModel(name="Tesla T4", pattern=r"\bT4$", memory=_memory(320, 183)),
)
PCIE = {1: 4.0, 2: 8.0, 3: 15.75, 4: 31.5, 5: 63.0, 6: 121.0}
"""GB/s of 16 lanes in one direction by generation: 2.5 to 32 GT/s each, less the encoding (PCI Express base
specification); of generation 6 as NVIDIA counts it."""


def gpu_model(name: str) -> GpuModel | None:
    """Return the row of the table for a name that driver or torch gives; ``None``: unknown, or a MIG instance."""
    if " MIG " in f" {name} ":
        return None
    return next((model for model in MODELS if re.search(model.pattern, name)), None)


def pcie_speed(generation: int | None, lanes: int | None) -> float | None:
    """Return what a PCI Express link can carry in one direction, in GB/s; ``None``: not known."""
    if generation is None or not lanes or generation not in PCIE:
        return None
    return PCIE[generation] * lanes / 16
