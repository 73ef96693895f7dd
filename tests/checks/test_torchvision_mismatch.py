"""torchvision-mismatch: torchvision was made for another torch."""

import pytest

from gpudoctor.facts import Distribution, Distributions, Python, Shadow, Torch, Torchvision
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("torchvision-mismatch")
MESSAGE = "torchvision was not made for the torch it meets"
EXAMPLES = {
    "ImportError: cannot import name 'v9' from 'torchvision.transforms' (/env/torchvision/transforms/__init__.py)": (
        "torchvision.transforms has no v9 in this torchvision: the program was written for another release"
    ),
    "AttributeError: module 'torchvision.models' has no attribute 'Net9_Weights'": (
        "torchvision.models has no Net9_Weights in this torchvision: the program was written for another release"
    ),
    (
        "RuntimeError: Detected that PyTorch and TorchAudio were compiled with different CUDA versions. PyTorch has CUDA "
        "version 11.8 whereas TorchAudio has CUDA version 11.7. Please install the TorchAudio version that matches your PyTorch version."
    ): "torchaudio was not made for the torch it meets: it has CUDA 11.7, torch has CUDA 11.8",
    "RuntimeError: No such operator image::read_file": MESSAGE + ": its operator read_file is not there",
    "RuntimeError: operator torchvision::nms does not exist": MESSAGE + ": its operator nms is not there",
    "RuntimeError: No such operator torchvision::nms": MESSAGE + ": its operator nms is not there",
    (
        "NotImplementedError: Could not run 'torchvision::nms' with arguments from the 'CUDA' "
        "backend. This could be because"
    ): MESSAGE + ": its operator nms is not there",
    (
        "RuntimeError: Couldn't load custom C++ ops. This can happen if your PyTorch and "
        "torchvision versions are incompatible,"
    ): MESSAGE,
    (
        "RuntimeError: Detected that PyTorch and torchvision were compiled with different "
        "CUDA versions. PyTorch has CUDA"
    ): MESSAGE,
    (
        "RuntimeError: Detected that PyTorch and torchvision were compiled with different "
        "CUDA major versions. PyTorch has"
    ): MESSAGE,
    "OSError: /env/torchvision/_C.so: undefined symbol: _ZN3c106detail14torchCheckFailEPKcS2_jRKSs": (
        MESSAGE + ": torch does not have the symbol _ZN3c106detail14torchCheckFailEPKcS2_jRKSs"
    ),
    (
        "ImportError: /env/torchvision/_C.cpython-37m-x86_64-linux-gnu.so: undefined symbol: "
        "_ZN3c1011CPUTensorIdEv"
    ): MESSAGE + ": torch does not have the symbol _ZN3c1011CPUTensorIdEv",
    (
        "UserWarning: Failed to load '_C_stable' extension: OSError: "
        "/env/torchvision/_C_stable.so: cannot open shared object file"
    ): MESSAGE,
    (
        "AttributeError: partially initialized module 'torchvision' has no attribute "
        "'extension' (most likely due to a circular"
    ): MESSAGE,
    "torchvision 0.15.2 requires torch==2.0.1, but you have torch 2.1.0 which is incompatible.": (
        "torchvision 0.15.2 was not made for the torch it meets, 2.1.0: it asks for torch 2.0.1"
    ),
    (
        "ERROR: torchvision 0.5.0 has requirement torch==1.4.0, but you'll have torch 1.7.0 "
        "which is incompatible."
    ): "torchvision 0.5.0 was not made for the torch it meets, 1.7.0: it asks for torch 1.4.0",
    "ValueError: Could not find the operator torchvision::nms. Please make sure you have already registered the operator": (
        MESSAGE + ": its operator nms is not there"
    ),
    "  UserWarning: Failed to load image Python extension: /srv/env/lib/python3.10/site-packages/torchvision/image.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationESs": MESSAGE,
    "Unknown builtin op: torchvision::nms.": MESSAGE + ": its operator nms is not there",
    (
        "RuntimeError: Detected that PyTorch and torchvision were compiled with different CUDA major versions. "
        "PyTorch has CUDA Version=12.1 and torchvision has CUDA Version=11.8."
    ): MESSAGE + ": it has CUDA 11.8, torch has CUDA 12.1",
    "AttributeError: '_OpNamespace' 'torchvision' object has no attribute 'nms'": (
        MESSAGE + ": its operator nms is not there"
    ),
    "RuntimeError: Only a single TORCH_LIBRARY can be used to register the namespace torchvision; please put all of your definitions": MESSAGE,
}
EXAMPLES["OSError: /env/torchaudio/lib/libtorchaudio.so: undefined symbol: _ZN2at4_ops6select3int"] = (
    "torchaudio was not made for the torch it meets: torch does not have the symbol _ZN2at4_ops6select3int"
)
EXAMPLES["OSError: /env/lib/torchaudio/_torchaudio.so: undefined symbol: _ZNK2at6Tensor6deviceEv"] = (
    "torchaudio was not made for the torch it meets: torch does not have the symbol _ZNK2at6Tensor6deviceEv"
)
NOT_THIS = [
    "RuntimeError: operator torchaudio::lfilter does not exist",
    "torchaudio 2.0.2 requires torch==2.0.1, but you have torch 2.1.0 which is incompatible.",
    "UserWarning: Failed to load image Python extension: libjpeg.so.8: cannot open shared object file",
    "ModuleNotFoundError: No module named 'torchvision.transforms.functional_tensor'",
]
PYTHON = Python(executable="/env/bin/python", version="3.11.7")
PIP = Distributions(installed=[Distribution(name="pip", version="24.0")])
LIBRARY = "/env/torchvision/_C.so"


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"python": PYTHON, "distributions": PIP, **facts}))


def pair(vision, torch):
    return run(torchvision=Torchvision(version=vision, torch_version=torch))


def test_operators_that_do_not_load():
    vision = Torchvision(
        version="0.21.0",
        requires_torch=["torch==2.6.0"],
        torch_version="2.5.1+cu124",
        library=LIBRARY,
        operators_load=False,
        operators_error=f"{LIBRARY}: undefined symbol: _ZN3c105ErrorC2ENS",
    )
    _, [finding] = run(torchvision=vision)
    assert finding.severity is Severity.ERROR
    assert "torchvision 0.21.0 beside torch 2.5.1+cu124" in finding.message
    assert "it asks for torch==2.6.0" in finding.message
    assert finding.evidence[0].text == vision.operators_error
    assert finding.fixes[0].command == (
        "/env/bin/python -m pip install --force-reinstall torch==2.5.1 'torchvision==0.20.*'"
    )


def test_operators_that_do_not_load_in_a_pair_that_belongs_together():
    vision = Torchvision(version="0.20.1+cpu", torch_version="2.5.1+cu124", operators_load=False)
    _, [finding] = run(torchvision=vision)
    assert "do not load" in finding.message


def test_loading_that_kills_the_process():
    vision = Torchvision(
        version="0.20.1", torch_version="2.5.1", library=LIBRARY, interrupted="killed by SIGSEGV"
    )
    _, [finding] = run(torchvision=vision)
    assert "killed by SIGSEGV" in finding.message


def test_a_pin_that_is_not_met_is_a_warning_where_the_operators_load():
    vision = Torchvision(
        version="0.20.0",
        requires_torch=["torch==2.5.0"],
        torch_version="2.5.1",
        library=LIBRARY,
        operators_load=True,
    )
    _, [finding] = run(torchvision=vision)
    assert finding.severity is Severity.WARNING
    assert "torch==2.5.0" in finding.message


@pytest.mark.parametrize(
    ("vision", "torch"),
    [
        ("0.7.0", "1.9.0+cu102"),
        ("0.15.2", "2.1.0+cu121"),
        ("0.19.0", "2.6.0"),
        ("0.28.0", "2.14.0"),
        ("0.30.0", "2.14.0"),
        ("0.9.1+cu111", "1.13.1+cu117"),
        ("0.14.1", "2.0.0.dev20230110+cu118"),  # a release beside a nightly that came after it
    ],
)
def test_releases_that_do_not_belong_together(vision, torch):
    _, [finding] = pair(vision, torch)
    assert finding.severity is Severity.ERROR
    assert f"torchvision {vision} beside torch {torch}" in finding.message


def test_one_without_compiled_operators_is_a_note():
    _, [finding] = pair("0.2.2", "1.1.0")
    assert finding.severity is Severity.NOTE
    assert "came with 0.3" in finding.message


def test_a_build_from_source_of_another_release_is_a_warning():
    _, [finding] = pair("0.5.0a0+85b8fbf", "1.5.0")
    assert finding.severity is Severity.WARNING
    assert "belongs with torchvision 0.6" in finding.message


@pytest.mark.parametrize(
    ("vision", "torch"),
    [
        ("0.2.2.post3", "1.0.1.post2"), ("0.3.0", "1.1.0"),
        ("0.4.0", "1.2.0"), ("0.4.2", "1.3.1"), ("0.5.0", "1.4.0"),
        ("0.6.1", "1.5.1"), ("0.7.0", "1.6.0"),
        ("0.8.2", "1.7.1"), ("0.9.1+cu111", "1.8.1+cu111"), ("0.10.0", "1.9.0"),
        ("0.11.1", "1.10.0"), ("0.12.0", "1.11.0"),
        ("0.13.1", "1.12.1+cu116"), ("0.14.1", "1.13.1"), ("0.15.2", "2.0.1"),
        ("0.15.2", "2.0.1+cu117"), ("0.20.1", "2.5.1"),
        ("0.28.0", "2.13.0+cpu"), ("0.29.2", "2.14.0"), ("0.29.2", "2.15.0"),
        ("0.22.0", "2.7.0+cu128"),
        ("0.20.1+cpu", "2.5.1+cu124"),  # the release is right; whether the operators load is another question
        ("0.20.0a0+afc54f7", "2.6.0a0+df5bbc09d1.nv24.11"),  # NVIDIA's container
        ("0.21.0.dev20241112+cu124", "2.6.0.dev20241112+cu124"),
        ("0.7.0a0+78ed10c", "1.6.0"),
        ("0.15.1", "2.0.0.dev20230310+cu118"),
        ("0.15.0a0+5850f37", "2.1.0.dev20230310"),
        ("0.99.0", "3.0.0"),
    ],
)  # fmt: skip
def test_pairs_that_pass(vision, torch):
    assert pair(vision, torch)[0].status is CheckStatus.PASSED


def test_passes():
    stable = Torchvision(
        version="0.29.2", requires_torch=["torch>=2.14.0"], torch_version="2.15.0+cu132", operators_load=True
    )
    conda = Torchvision(version="0.19.0", torch_version="2.6.0", operators_load=True)  # no pins, and it works
    source = Torchvision(
        version="0.20.0",
        requires_torch=["torch==2.5.0a0"],
        torch_version="2.5.0a0+872d972e41.nv24.8",
        operators_load=True,
    )
    local = Torchvision(
        version="0.21.0+cu118",
        requires_torch=["torch==2.6.0"],
        torch_version="2.6.0+cu118",
        operators_load=True,
    )
    for vision in (stable, conda, source, local, Torchvision(), Torchvision(torch_version="2.15.0")):
        assert run(torchvision=vision)[0].status is CheckStatus.PASSED, vision


def test_versions_come_from_the_distributions_where_torch_cannot_be_imported():
    installed = [
        Distribution(name="torch", version="2.6.0"),
        Distribution(name="torchvision", version="0.19.0"),
    ]
    torch = Torch(imported=False, file="/env/torch/__init__.py")
    _, [finding] = run(
        torchvision=Torchvision(), torch=torch, distributions=Distributions(installed=installed)
    )
    assert "torchvision 0.19.0 beside torch 2.6.0" in finding.message


def test_unknown():
    assert run()[0].reason == "torchvision: not in this report"
    assert run(torchvision=Torchvision(version="0.21.0"))[0].status is CheckStatus.UNKNOWN
    assert pair("unknown", "2.5.0")[0].status is CheckStatus.UNKNOWN


def audio(version, *pins):
    found = [Distribution(name="torchaudio", version=version, requires=list(pins))]
    return Distributions(installed=[Distribution(name="torch", version="2.15.0"), *found])


def test_a_torchaudio_whose_pin_is_not_met():
    _, [finding] = examine(
        CHECK, Source.ENVIRONMENT, Snapshot({"distributions": audio("2.5.1", "torch==2.5.1")})
    )
    assert "torchaudio 2.5.1 beside torch 2.15.0, and it asks for torch==2.5.1" in finding.message
    assert "torch==2.15.0 torchaudio" in finding.fixes[0].command


def test_a_torchaudio_that_asks_for_nothing_fits():
    result, found = examine(CHECK, Source.ENVIRONMENT, Snapshot({"distributions": audio("2.11.0")}))
    assert (result.status, found) == (CheckStatus.PASSED, [])


def test_a_file_that_hides_torchvision_is_torch_shadoweds():
    shadow = Shadow(module="torchvision", path="/a/torchvision.py")
    result, _ = run(
        torch=Torch(imported=True, version="2.15.0", shadows=[shadow]),
        torchvision=Torchvision(version="0.29.2", torch_version="2.15.0", operators_load=False),
    )
    assert result.status is CheckStatus.UNKNOWN
    assert result.reason is not None
    assert "torch-shadowed" in result.reason
