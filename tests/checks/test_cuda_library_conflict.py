"""cuda-library-conflict: seen in logs."""

import msgspec
import pytest
from msgspec.structs import replace

from gpudoctor.facts import Distribution, Distributions, Launch, Torch, WheelFile
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("cuda-library-conflict")
MESSAGE = "two versions of CUDA or of one of its libraries meet"
EXAMPLES = {
    "Found cuDNN version 8700, but JAX was built against version 8800, which is newer.": (
        "two versions of CUDA or of one of its libraries meet: 8700 was found where 8800 was expected, at cuDNN"
    ),
    "RuntimeError: cuDNN version incompatibility: PyTorch was compiled  against (9, 10, 2) but found runtime version (9, 1, 0). PyTorch already comes bundled with cuDNN.": (
        MESSAGE + ": (9, 1, 0) was found where (9, 10, 2) was expected"
    ),
    "RuntimeError: cuDNN version incompatibility: PyTorch was compiled against 7605 but linked against 7401": (
        MESSAGE + ": 7401 was found where 7605 was expected"
    ),
    "RuntimeError: cuDNN version mismatch: PyTorch was compiled against 6021 but linked against 5110": (
        MESSAGE + ": 5110 was found where 6021 was expected"
    ),
    "Looks like your LD_LIBRARY_PATH contains incompatible version of cudnn. Please either remove it from the path or install cudnn (9, 10, 2)": MESSAGE,
    "Could not load library libcudnn_cnn_infer.so.8. Error: libcudnn_cnn_infer.so.8: cannot open shared object file: No such file or directory": (
        MESSAGE + ", at libcudnn_cnn_infer.so.8"
    ),
    "Could not load library libcudnn_cnn_train.so.8. Error: /usr/local/cuda-11.1/lib64/libcudnn_ops_train.so.8: undefined symbol: _Z20traceback_iretf_implPKcRKN5cudnn16InternalStatus_tEb, version libcudnn_ops_infer.so.8": (
        MESSAGE + ", at libcudnn_cnn_train.so.8"
    ),
    "Could not load library libcudnn_cnn_train.so.8. Error: /usr/lib/libcudnn_cnn_train.so.8: symbol _ZN5cudnn3opsEv, version libcudnn_ops_infer.so.8 not defined in file libcudnn_ops_infer.so.8 with link time reference": (
        MESSAGE + ", at libcudnn_cnn_train.so.8"
    ),
    "Please make sure libcudnn_cnn_infer.so.8 is in your library path!": (
        MESSAGE + ", at libcudnn_cnn_infer.so.8"
    ),
    "Could not locate cudnn_ops64_9.dll. Please make sure it is in your library path!": (
        MESSAGE + ", at cudnn_ops64_9.dll"
    ),
    "Unable to load any of {libcudnn_cnn.so.9.1.0, libcudnn_cnn.so.9.1, libcudnn_cnn.so.9, libcudnn_cnn.so}": (
        MESSAGE + ", at libcudnn_cnn.so.9.1.0"
    ),
    "Could not load symbol cudnnGetLibConfig. Error: /usr/lib/x86_64-linux-gnu/libcudnn_graph.so.9: undefined symbol: cudnnGetLibConfig": (
        MESSAGE + ", at cudnnGetLibConfig"
    ),
    "Invalid handle. Cannot load symbol cudnnCreateConvolutionDescriptor": (
        MESSAGE + ", at cudnnCreateConvolutionDescriptor"
    ),
    "[rank0]: RuntimeError: cuDNN error: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH": MESSAGE,
    "Loaded runtime CuDNN library: 8.0.5 but source was compiled with: 8.1.0.  CuDNN library needs to have matching major version": (
        MESSAGE + ": 8.0.5 was found where 8.1.0 was expected"
    ),
    "OSError: /srv/cuda/lib64/libcudart.so.12: version `libcudart.so.12.4' not found": (
        MESSAGE + ", at libcudart.so.12.4"
    ),
    "RuntimeError: \nThe detected CUDA version (11.8) mismatches the version that was used to compile\nPyTorch (12.4). Please make sure to use the same CUDA versions.": (
        MESSAGE + ": nvcc is of CUDA 11.8, and torch was built with 12.4"
    ),
    "ldd /x/site-packages/torch/lib/../../nvidia/cusparse/lib/libcusparse.so.12\n\tlibnvJitLink.so.12 => /usr/local/cuda-12.1/lib64/libnvJitLink.so.12 (0x7f)": (
        MESSAGE + ", at /usr/local/cuda-12.1/lib64/libnvJitLink.so.12"
    ),
    "The detected CUDA version (11.8) mismatches the version that was used to compile": (
        MESSAGE + ": nvcc is of CUDA 11.8"
    ),
    "RuntimeError: Cuda extensions are being compiled with a version of Cuda that does not match the version used to compile Pytorch binaries.  Pytorch binaries were compiled with Cuda 9.0.176.": MESSAGE,
    "DeepSpeed Op Builder: Installed CUDA version 12.2 does not match the version torch was compiled with 11.7, unable to compile cuda/cpp extensions": (
        MESSAGE + ": nvcc is of CUDA 12.2, and torch was built with 11.7"
    ),
    "Exception: Installed CUDA version 12.1 does not match the version torch was compiled with 11.8": (
        MESSAGE + ": nvcc is of CUDA 12.1, and torch was built with 11.8"
    ),
}
NOT_THIS = [
    "UserWarning: The detected CUDA version (12.1) has a minor version mismatch with the version that was used to compile PyTorch (12.4). Most likely this shouldn't be a problem.",
    "RuntimeError: Detected that PyTorch and torchvision were compiled with different CUDA major versions. PyTorch has CUDA Version=12.1",
    "ImportError: /env/torch/lib/../../nvidia/cusparse/lib/libcusparse.so.12: undefined symbol: __nvJitLinkAddData_12_1, version libnvJitLink.so.12",
    "WARNING! Found duplicate ['libcudart.so', 'libcudart.so.11.0'] files: {'/usr/lib'}.. We'll flip a coin and try one of these",
    "Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN when one has already been registered",
    "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR",
    "cuDNN version : 8902",
]


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


SITE = "/venv/lib/python3.11/site-packages"
NCCL = f"{SITE}/nvidia/nccl/lib/libnccl.so.2"


def wheel(name, version, size, there=None, path=NCCL):
    file = WheelFile(path=path, bytes=size, bytes_there=size if there is None else there)
    return Distribution(name=name, version=version, location=SITE, libraries=[file])


def torch(*mapped):
    return Torch(imported=True, version="2.15.0+cu132", cuda="13.2", libraries=list(mapped))


def wheels(*more):
    own = Distribution(name="torch", version="2.15.0", location=SITE, pins=["nvidia-nccl-cu13==2.30.7"])
    return Distributions(installed=[own, *more])


OWN = wheel("nvidia-nccl-cu13", "2.30.7", 395)


def test_a_wheel_that_another_one_wrote_over():
    found = wheels(
        wheel("nvidia-nccl-cu13", "2.30.7", 395, there=400), wheel("nvidia-nccl-cu12", "2.27.5", 400)
    )
    _, [finding] = run(torch=torch(NCCL), distributions=found)
    assert finding.severity is Severity.ERROR
    assert "nvidia-nccl-cu12 wrote over it" in finding.message
    assert finding.fixes[0].command.endswith("nvidia-nccl-cu12")


def test_wheels_of_two_cudas_in_one_folder():
    _, [finding] = run(
        torch=torch(NCCL), distributions=wheels(OWN, wheel("nvidia-nccl-cu12", "2.27.5", 400, 395))
    )
    assert finding.severity is Severity.WARNING
    assert "nvidia-nccl-cu12 and nvidia-nccl-cu13 are both installed" in finding.message


def test_two_cudas_in_a_list_of_packages_alone():
    wheels = [Distribution(name=f"nvidia-nccl-cu{cuda}", version="2.29.3") for cuda in (12, 13)]
    _, [finding] = run(distributions=Distributions(installed=wheels))
    assert finding.message.startswith("nvidia-nccl-cu12 and nvidia-nccl-cu13 are both installed")


def test_a_copy_from_elsewhere_with_the_variable_that_brings_it():
    launch = Launch(variables={"LD_LIBRARY_PATH": "/opt/nccl/lib"})
    _, [finding] = run(
        torch=torch("/opt/nccl/lib/libnccl.so.2.18.1"), distributions=wheels(OWN), launch=launch
    )
    assert (
        "torch loads /opt/nccl/lib/libnccl.so.2.18.1, and not libnccl.so.2 of nvidia-nccl-cu13"
        in finding.message
    )
    assert finding.evidence[0].text == "LD_LIBRARY_PATH=/opt/nccl/lib"


def test_two_copies_in_one_process():
    _, [finding] = run(torch=torch(NCCL, "/opt/lib/libnccl.so.2.18.1"), distributions=wheels(OWN))
    assert "import torch loads libnccl 2 times" in finding.message


@pytest.mark.parametrize(
    "facts",
    [
        {"torch": torch(NCCL), "distributions": wheels(OWN)},
        # NVIDIA's containers and conda have no wheels beside torch
        {"torch": torch("/usr/lib/x86_64-linux-gnu/libnccl.so.2.27.5"), "distributions": Distributions()},
        {"torch": torch("/a/torch/lib/libgomp.so.1", "/usr/lib/libgomp.so.1.0.0"), "distributions": wheels(OWN)},
        # sub-libraries are no copies
        {"torch": torch("/a/libcudnn.so.9", "/a/libcudnn_ops.so.9", "/a/libcublas.so.13", "/a/libcublasLt.so.13")},
    ],
)  # fmt: skip
def test_environment_passed(facts):
    result, found = run(**facts)
    assert (result.status, found) == (CheckStatus.PASSED, [])


def test_wheels_of_another_cuda_in_folders_of_their_own_are_a_note():
    """Since CUDA 13 most of them have."""
    other, own = (
        wheel("nvidia-cublas-cu12", "12.8", 5, path="/a"),
        wheel("nvidia-cublas", "13", 5, path="/b"),
    )
    _, [finding] = run(torch=torch(NCCL), distributions=wheels(OWN, other, own))
    assert finding.severity is Severity.NOTE
    assert finding.message.startswith("nvidia-cublas-cu12 is of another CUDA than 13")


def test_a_list_of_packages_has_wheels_of_another_cuda():
    names = ("torch", "nvidia-cublas-cu11", "nvidia-cublas-cu12")
    listed = Distributions(installed=[Distribution(name=name, version="2.1.0") for name in names])
    _, [finding] = run(torch=Torch(imported=True, cuda="12.1"), distributions=listed)
    assert finding.severity is Severity.NOTE
    assert finding.message.startswith("nvidia-cublas-cu11 is of another CUDA than 12")
    assert run(torch=Torch(imported=True, cuda="11.8"), distributions=listed)[1][0].message.startswith(
        "nvidia-cublas-cu12 is of another CUDA than 11"
    )


@pytest.mark.parametrize(
    ("version", "cudnn", "asked"),
    [
        ("2.2.1+cu121", "9.1.0.70", "8"), ("2.5.1+cu124", "8.9.7.29", "9"),
        ("2.3.1", "8.9.2.26", None), ("2.4.0", "9.10.2.21", None), ("1.12.1", "9.1.0.70", None),
        ("2.4.0a0+f70bd71a48.nv24.6", "8.9.2.26", None),
    ],
)  # fmt: skip
def test_a_list_of_packages_has_a_cudnn_that_torch_does_not_ask_for(version, cudnn, asked):
    listed = Distributions(
        installed=[
            Distribution(name="torch", version=version),
            Distribution(name="nvidia-cudnn-cu12", version=cudnn),
        ]
    )
    _, found = run(torch=Torch(imported=True, version=version, cuda="12.1"), distributions=listed)
    assert [f.severity for f in found] == ([Severity.NOTE] if asked else [])
    assert not asked or f"asks for libcudnn.so.{asked}" in found[0].message


def test_a_file_that_somebody_wrote_over():
    changed = wheel("nvidia-nccl-cu13", "2.30.7", 7)
    [file] = changed.libraries
    changed = replace(changed, libraries=[replace(file, bytes_there=file.bytes + 1)])
    _, [finding] = run(torch=torch(file.path), distributions=wheels(changed))
    assert finding.severity is Severity.WARNING
    assert "by the RECORD of nvidia-nccl-cu13 2.30.7: somebody wrote over it" in finding.message


def test_copies_on_the_linkers_path_that_torch_does_not_load():
    other = torch(NCCL)
    beside = msgspec.structs.replace(
        other, linkable={"/opt/hpc/lib/libnccl.so.2": "/opt/hpc/lib/libnccl.so.2.30.7"}
    )
    _, [finding] = run(torch=beside, distributions=wheels(OWN))
    assert finding.severity is Severity.NOTE
    assert finding.message.startswith("LD_LIBRARY_PATH (/opt/hpc/lib) holds libnccl.so.2, too: torch loads")
    unlike = msgspec.structs.replace(
        other, linkable={"/opt/hpc/lib/libcudart.so.11.0": "/opt/hpc/lib/libcudart.so.11.0"}
    )
    assert run(torch=unlike, distributions=wheels(OWN))[1] == []


def test_environment_unknown():
    assert run(torch=Torch(imported=True, version="2.15.0", cuda="13.2"))[0].status is CheckStatus.UNKNOWN
