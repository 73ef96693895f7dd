"""torch-import-broken: torch is installed and cannot be imported."""

import pytest

from gpudoctor.facts import Distribution, Distributions, Folder, Launch, Python, Raised, Storage, Torch
from gpudoctor.guard import examine
from gpudoctor.model import Kind, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("torch-import-broken")
MESSAGE = "torch, or an extension of it, does not load"
EXAMPLES = {
    "OSError: /opt/cuda/lib64/libcusparse.so.12: undefined symbol: cusparseNew_v2": MESSAGE
    + ": no library that was loaded has the symbol cusparseNew_v2",
    "ImportError: /lib64/libstdc++.so.6: version `GLIBCXX_3.4.29' not found (required by build/my_torch_ops.so)": MESSAGE,
    """Why does this fail on a fresh PC?
  File "D:\\py\\envs\\vision\\lib\\site-packages\\torch\\__init__.py", line 75, in <module>
    ctypes.CDLL(dll)
OSError: [WinError 126] The specified module could not be found""": MESSAGE,
    """~\\miniconda\\lib\\site-packages\\torch\\__init__.py in <module>
---> 90 from torch._C import *

ImportError: DLL load failed: %1 is not a valid Win32 application.""": MESSAGE,
    """>>> import torch
ImportError: DLL load failed: Das angegebene Modul wurde nicht gefunden.""": MESSAGE,
    "ImportError: DLL load failed while importing _ext: 找不到指定的模块。": MESSAGE,
    "RuntimeError: Detected that PyTorch and torch_scatter were compiled with different CUDA versions.": (
        "torch, or an extension of it, does not load: torch_scatter was compiled for another CUDA"
    ),
    "ImportError: ./script/_ext/my_lib/_my_lib.so: undefined symbol: state": "torch, or an extension of it, does not load: no library that was loaded has the symbol state",
    "OSError: libroctx64.so.4: cannot open shared object file: No such file or directory": "torch, or an extension of it, does not load: libroctx64.so.4 cannot be opened",
    (
        "ImportError: /env/lib/python3.8/site-packages/amp_C.cpython-38-x86_64-linux-gnu.so: undefined symbol: "
        "_ZNSt15__exception_ptr13exception_ptr9_M_addrefEv"
    ): MESSAGE
    + ": no library that was loaded has the symbol _ZNSt15__exception_ptr13exception_ptr9_M_addrefEv",
    (
        "when I run `import torch` I get\n/env/bin/../lib/libstdc++.so.6: version `GLIBCXX_3.4.29' not found"
    ): MESSAGE,
    "ImportError: /env/torch/lib/libATen.so.1: undefined symbol: THNN_CudaClassNLLCriterion_updateOutput": (
        MESSAGE + ": no library that was loaded has the symbol THNN_CudaClassNLLCriterion_updateOutput"
    ),
    "ImportError: libtorch_cpu.so: cannot open shared object file: No such file or directory": (
        MESSAGE + ": libtorch_cpu.so cannot be opened"
    ),
    "ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory": (
        MESSAGE + ": libcudnn.so.9 cannot be opened"
    ),
    "OSError: libcudart.so.11.0: cannot open shared object file: No such file or directory": (
        MESSAGE + ": libcudart.so.11.0 cannot be opened"
    ),
    "ImportError: /env/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so: file too short": (
        MESSAGE + ": libtorch_cuda.so cannot be opened"
    ),
    "ImportError: libgomp.so.1: cannot open shared object file: No such file or directory": (
        MESSAGE + ": libgomp.so.1 cannot be opened"
    ),
    (
        "ImportError: /env/lib/python3.8/site-packages/torch/lib/libtorch_cpu.so: undefined "
        "symbol: iJIT_NotifyEvent"
    ): MESSAGE + ": no library that was loaded has the symbol iJIT_NotifyEvent",
    (
        "ImportError: /env/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so: undefined "
        "symbol: ncclCommRegister"
    ): MESSAGE + ": no library that was loaded has the symbol ncclCommRegister",
    (
        "ImportError: "
        "/env/lib/python3.10/site-packages/torch/lib/../../nvidia/cusparse/lib/libcusparse.so.12: "
        "undefined symbol: __nvJitLinkAddData_12_1, version libnvJitLink.so.12"
    ): MESSAGE + ": no library that was loaded has the symbol __nvJitLinkAddData_12_1",
    (
        "ImportError: /env/lib/libcusparse.so.12: symbol __nvJitLinkComplete_12_4, version "
        "libnvJitLink.so.12 not defined in file libnvJitLink.so.12 with link time reference"
    ): MESSAGE + ": no library that was loaded has the symbol __nvJitLinkComplete_12_4",
    (
        "ImportError: /env/flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so: undefined "
        "symbol: _ZN3c104cuda9SetDeviceEi"
    ): MESSAGE + ": no library that was loaded has the symbol _ZN3c104cuda9SetDeviceEi",
    "ImportError: /env/mmcv/_ext.cpython-38-x86_64-linux-gnu.so: undefined symbol: _ZNK2at6Tensor5sizesEv": (
        MESSAGE + ": no library that was loaded has the symbol _ZNK2at6Tensor5sizesEv"
    ),
    "ValueError: libcublas.so.*[0-9] not found in the system path ['/home/me', '/usr/lib/python3.10']": (
        MESSAGE + ": libcublas cannot be opened"
    ),
    (
        "ImportError: /lib64/libc.so.6: version `GLIBC_2.28' not found (required by "
        "/env/torch/lib/libtorch_cpu.so)"
    ): MESSAGE,
    (
        "ImportError: /env/torch/lib/../../torch.libs/libtorch_cpu.so: cannot allocate memory "
        "in static TLS block"
    ): MESSAGE,
    "ImportError: Failed to load PyTorch C extensions:": MESSAGE,
    (
        "OSError: [WinError 126] The specified module could not be found. Error loading "
        '"C:\\env\\torch\\lib\\shm.dll" or one of its'
    ): MESSAGE,
    (
        "ImportError: dlopen(/env/torch/_C.cpython-39-darwin.so, 0x0002): Library not loaded: "
        "@rpath/libomp.dylib"
    ): MESSAGE,
    "OSError: /srv/env/lib/python3.11/site-packages/torch/lib/libtorch_global_deps.so: failed to map segment from shared object": MESSAGE,
    "ImportError: /srv/env/lib/python3.8/site-packages/torch/lib/libgomp-d22c30c5.so.1: cannot allocate memory in static TLS block": MESSAGE,
    "ModuleNotFoundError: No module named 'torch._C'": MESSAGE,
    "AssertionError: libcudart functions unavailable. It looks like you have a broken build?": MESSAGE,
    "ImportError: /env/torch/lib/libc10_cuda.so: undefined symbol: cudaGetDriverEntryPointByVersion, version libcudart.so.12": (
        MESSAGE + ": no library that was loaded has the symbol cudaGetDriverEntryPointByVersion"
    ),
    "ImportError: /env/torch/lib/libtorch_cpu.so: undefined symbol: __kmpc_barrier": (
        MESSAGE + ": no library that was loaded has the symbol __kmpc_barrier"
    ),
    "ImportError: /env/xformers/_C.so: undefined symbol: aoti_torch_abi_version": (
        MESSAGE + ": no library that was loaded has the symbol aoti_torch_abi_version"
    ),
    "ImportError: /env/lib/spconv_ops.so: undefined symbol: _ZNSt6vectorIN3c106SymIntESaIS1_EE7reserveEm": (
        MESSAGE + ": no library that was loaded has the symbol _ZNSt6vectorIN3c106SymIntESaIS1_EE7reserveEm"
    ),
    "ImportError: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.32' not found (required by /env/flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so)": MESSAGE,
    'OSError: [WinError 127] The specified procedure could not be found. Error loading "C:\\Program Files\\env\\torch\\lib\\caffe2_nvrtc.dll" or one of its': MESSAGE,
    "ImportError: DLL load failed while importing _C: The specified module could not be found.": MESSAGE,
    "Traceback (most recent call last):\n  File \"/env/lib/python3.10/site-packages/torch/__init__.py\", line 778, in <module>\n    _C._initExtension(manager_path())\nAttributeError: partially initialized module 'torch' has no attribute 'UntypedStorage' (most likely due to a circular import)": MESSAGE,
    "OMP: Error #15: Initializing libiomp5md.dll, but found libiomp5md.dll already initialized.": (
        MESSAGE + ": another OpenMP, libiomp5md.dll, came first"
    ),
    "Error: mkl-service + Intel(R) MKL: MKL_THREADING_LAYER=INTEL is incompatible with libgomp.so.1 library.": (
        MESSAGE + ": another OpenMP, libgomp.so.1, came first"
    ),
    "ImportError: /opt/gcc/lib64/libstdc++.so.6: version `GLIBCXX_3.4.29' not found": "torch, or an extension of it, does not load",
    "OSError: [WinError 193] %1 is not a valid Win32 application": "torch, or an extension of it, does not load",
    "NameError: name '_C' is not defined": "torch, or an extension of it, does not load",
    "ImportError: libcudnn.so.8: cannot open shared object file: No such file or directory": "torch, or an extension of it, does not load: libcudnn.so.8 cannot be opened",
    '  File "train.py", line 1, in <module>\n    import torch\n  File "/env/lib/python3.9/site-packages/torch/__init__.py", line 465, in <module>\n    for name in dir(_C):\nNameError: name \'_C\' is not defined': "torch, or an extension of it, does not load",
    '  File "/env/lib/python3.9/site-packages/torch/__init__.py", line 190, in <module>\n    from torch._C import *\nImportError: libfabric.so.1: cannot open shared object file: No such file or directory': "torch, or an extension of it, does not load: libfabric cannot be opened",
}
NOT_THIS = [
    "import cv2\nImportError: DLL load failed: The specified module could not be found.",
    "OSError: [WinError 126] The specified module could not be found: 'cufft64_10.dll'",
    'File "C:\\env\\lib\\site-packages\\torch\\__init__.py", line 9\nImportError: DLL load failed while importing lexer: not found',
    "ImportError: /usr/lib/python3/dist-packages/PIL/_imaging.so: undefined symbol: jpeg_std_error",
    "ImportError: libGL.so.1: cannot open shared object file: No such file or directory",
    (
        "Could not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: "
        "cannot open shared object file"
    ),
    "OSError: /env/torchvision/_C.so: undefined symbol: _ZN3c106detail14torchCheckFailEPKcS2_jRKSs",
    "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory",
    "ImportError: cannot import name 'Tensor' from 'torch' (unknown location)",
    (
        "Could not load library libcudnn_cnn_train.so.8. Error: /usr/lib/libcudnn_cnn_train.so.8: symbol _ZN5cudnn3opsEv, version "
        "libcudnn_ops_infer.so.8 not defined in file libcudnn_ops_infer.so.8 with link time reference"
    ),
    "ModuleNotFoundError: No module named 'torch._C'; 'torch' is not a package",
    "MKL_THREADING_LAYER=GNU python train.py",
]
PYTHON = Python(executable="/env/bin/python", version="3.11.7")
FILE = "/env/lib/python3.11/site-packages/torch/__init__.py"
TRACEBACK = (
    "Traceback (most recent call last):\n"
    f'  File "{FILE}", line 505, in <module>\n'
    "    from torch._C import *  # noqa: F403\n"
    "    ^^^^^^^^^^^^^^^^^^^^^^\n"
    "ImportError: {}\n"
)


def raised(message, type="ImportError"):
    error = Raised(type=type, message=message, traceback=TRACEBACK.format(message))
    return Torch(imported=False, file=FILE, stage="import torch", error=error)


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"python": PYTHON, **facts}))


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            "libtorch_cpu.so: cannot open shared object file: No such file or directory",
            "the installation is incomplete",
        ),
        (
            "libcudnn.so.9: cannot open shared object file: No such file",
            "comes with the wheel nvidia-cudnn-cu12",
        ),
        (
            "libcudart.so.12: cannot open shared object file: No such file",
            "comes with the wheel nvidia-cuda-runtime-cu12",
        ),
        (
            "libcusparseLt.so.0: cannot open shared object file: No such file",
            "comes with the wheel nvidia-cusparselt-cu12",
        ),
        (
            "libnvJitLink.so.12: cannot open shared object file: No such file",
            "comes with the wheel nvidia-nvjitlink-cu12",
        ),
        (
            "libgomp.so.1: cannot open shared object file: No such file or directory",
            "belongs to the operating system",
        ),
        ("/env/torch/lib/libtorch_cuda.so: undefined symbol: ncclCommResume", "a NCCL of another version"),
        (
            "/env/libcusparse.so.12: undefined symbol: __nvJitLinkAddData_12_1, version libnvJitLink.so.12",
            "nvJitLink of another",
        ),
        ("/env/torch/lib/libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent", "linked with an older MKL"),
        (
            "/env/torch/lib/libtorch_cpu.so: undefined symbol: _ZN5tbb5frob",
            "libraries of different versions are mixed",
        ),
    ],
)
def test_found_with_what_the_message_means(message, words):
    distributions = Distributions(installed=[Distribution(name="nvidia-nccl-cu12", version="2.27.5")])
    _, [finding] = run(torch=raised(message), distributions=distributions)
    assert finding.message.startswith(f"import torch raises ImportError: {message}")
    assert words in finding.message
    assert finding.evidence[-1].text == f"ImportError: {message}"
    assert "torch" in finding.fixes[-1].command


def test_an_mkl_is_installed_for_its_symbol():
    pip = Distributions(installed=[Distribution(name="pip", version="24.0")])
    _, [finding] = run(torch=raised("libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent"), distributions=pip)
    assert finding.fixes[0].command == "/env/bin/python -m pip install 'mkl<2024.1'"


def test_a_library_of_the_system_needs_an_administrator():
    _, [finding] = run(
        torch=raised("libopenblas.so.0: cannot open shared object file: No such file or directory")
    )
    assert finding.fixes[0].kind is Kind.ADMIN


def test_the_linkers_variables_are_suspected_first():
    launch = Launch(variables={"LD_LIBRARY_PATH": "/usr/local/cuda-11.8/lib64", "LD_PRELOAD": ""})
    _, [finding] = run(
        torch=raised("libcusparse.so.12: undefined symbol: __nvJitLinkAddData_12_1"), launch=launch
    )
    assert finding.fixes[0].command == "env -u LD_LIBRARY_PATH /env/bin/python -c 'import torch'"
    assert "LD_LIBRARY_PATH=/usr/local/cuda-11.8/lib64" in [e.text for e in finding.evidence]


@pytest.mark.parametrize("end", ["killed by SIGSEGV", "no answer in 90 s"])
def test_a_process_that_died_or_hung(end):
    _, [finding] = run(torch=Torch(file=FILE, interrupted=end, stage="import torch"))
    assert finding.message == f"import torch did not finish: {end}"


def test_another_exception_is_quoted_by_its_last_line():
    torch = raised("Numpy is broken:\nDO NOT PANIC", type="RuntimeError")
    _, [finding] = run(torch=torch)
    assert finding.message == "import torch raises RuntimeError: DO NOT PANIC"


@pytest.mark.parametrize(
    "torch",
    [
        Torch(imported=True, version="2.15.0", file=FILE),
        Torch(
            imported=True,
            version="2.15.0",
            file=FILE,
            interrupted="killed by SIGSEGV",
            stage="torch.cuda.init()",
        ),
        Torch(imported=False, error=Raised(type="ModuleNotFoundError", message="No module named 'torch'")),
        Torch(imported=False),
    ],
)
def test_passes(torch):
    assert run(torch=torch)[0].status is CheckStatus.PASSED


def test_unknown():
    assert run()[0].reason == "torch: not in this report"
    assert run(torch=Torch(file=FILE))[0].status is CheckStatus.UNKNOWN


def test_an_allocator_variable_that_ends_the_import_is_alloc_conf_s():
    torch = Torch(file=FILE, interrupted="killed by SIGABRT during import torch", stage="import torch")
    wrong = Launch(variables={"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb=128"})
    assert run(torch=torch, launch=wrong)[0].status is CheckStatus.PASSED
    right = Launch(variables={"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:128,expandable_segments:True"})
    assert run(torch=torch, launch=right)[0].status is CheckStatus.FOUND


def beside(*versions, location="/env/lib", torch="2.15.0+cu132"):
    installed = [Distribution(name="torch", version=version, location=location) for version in versions]
    return {"torch": Torch(imported=True, version=torch), "distributions": Distributions(installed=installed)}


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        (beside("2.15.0", "2.4.0"), "has the metadata of 2.15.0 and 2.4.0"),
        (beside("2.4.0"), "torch is 2.15.0+cu132, and its folder /env/lib has the metadata of 2.4.0"),
    ],
)
def test_one_torch_over_another(facts, says):
    _, [finding] = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
    assert finding.severity is Severity.WARNING
    assert says in finding.message


@pytest.mark.parametrize("facts", [beside("2.15.0"), beside("2.15.0+cu132"), beside("2.1.0", location="")])
def test_one_torch_alone(facts):
    assert examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))[1] == []


def test_a_working_folder_that_was_deleted():
    gone = Storage(
        folders=[Folder(use="working folder", path="/w", error_code=2, error="No such file or directory")]
    )
    torch = Torch(interrupted="exit status 2", stage="import torch")
    _, [finding] = examine(CHECK, Source.ENVIRONMENT, Snapshot({"torch": torch, "storage": gone}))
    assert "the working folder /w does not exist any more" in finding.message
