"""Faults of the driver, of its libraries, of containers, and of the installed build."""

from typing import Any

from msgspec.structs import replace

from gpudoctor.facts import (
    Cuda,
    DeviceNode,
    Distribution,
    Driver,
    Gpus,
    Raised,
    Shadow,
    Torchvision,
)
from gpudoctor.snapshot import Snapshot
from tests.scenarios.fault import Change, Fault, Variant, both, bus, edit, gpu, put, variables
from tests.scenarios.topics.distributions import HERE, wheel

UNEXPECTED = (
    "Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling NumCudaDevices() that "
    "might have already set an error? Error {}"
)
TOO_OLD = (
    "The NVIDIA driver on your system is too old (found version {}). Please update your GPU driver by downloading and "
    "installing a new version from the URL: http://www.nvidia.com/Download/index.aspx"
)
NO_DRIVER = (
    "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver"
)
ABSENT = "libcuda.so.1: cannot open shared object file: No such file or directory"


def blind(words: str) -> Change:
    """Let torch find no GPU, and say why."""
    error = Raised(type="RuntimeError", message=words)
    warning = f"UserWarning: CUDA initialization: {words}"
    none: dict[str, Any] = {"cuda_available": False, "device_count": 0, "devices": [], "cudnn": None}
    return edit("torch", cuda_error=error, warnings=[warning], **none)


def fails(code: int, words: str, **fields: Any) -> Change:
    """Let cuInit fail with a code."""
    return both(edit("cuda", init=code, count=None, devices=[], **fields), blind(words))


def unloaded(driver: str | None = None) -> Change:
    """Take the driver away, and bind the GPUs to another one."""

    def change(snapshot: Snapshot) -> Snapshot:
        cards: Any = snapshot.facts["pci"]
        steps = [bus(n, driver=driver) for n in range(len(cards.gpus))]
        bare = put(
            driver=Driver(),
            gpus=Gpus(error="NVML Shared Library Not Found", error_code=12),
            cuda=Cuda(error=ABSENT),
        )
        return both(*steps, bare, blind(NO_DRIVER))(snapshot)

    return change


def without_nodes(*paths: str) -> Change:
    return edit("driver", nodes=lambda nodes: [n for n in nodes if n.path not in paths])


def contained(kind: str, *more: Change) -> Change:
    """Run in a container that was started without its GPUs."""
    silent = put(gpus=Gpus(error="NVML Shared Library Not Found", error_code=12), cuda=Cuda(error=ABSENT))
    return both(edit("host", container=kind), edit("driver", nodes=[]), silent, blind(NO_DRIVER), *more)


def installed(*more: Distribution, without: str = "") -> Change:
    return edit(
        "distributions", installed=lambda old: [*(d for d in old if d.name != without or not without), *more]
    )


def broken(module: str, path: str, message: str, type: str = "ImportError", **fields: Any) -> Change:
    """Let `import torch` fail over a file of the user's own."""
    frame = f'  File "{HERE}/torch/__init__.py", line 1, in <module>'
    traceback = f"Traceback (most recent call last):\n{frame}\n{type}: {message}"
    error = Raised(type=type, message=message, traceback=traceback)
    gone: dict[str, Any] = {"version": None, "cuda": None, "nccl": None, "libraries": None}
    shadow = Shadow(module=module, path=path, loaded=True)
    torch = edit("torch", imported=False, error=error, shadows=[shadow], **gone, **fields)
    return both(
        torch,
        edit("torch", cuda_available=None, device_count=None, devices=[]),
        put(torchvision=Torchvision()),
    )


def mapped(*more: str, without: str = "") -> Change:
    return edit("torch", libraries=lambda old: [*(p for p in old if not without or without not in p), *more])


MISMATCH = "system has unsupported display driver / cuda driver combination"
H100, A100 = "board-8xh100", "board-8xa100"
STUBS = "/usr/local/cuda-13.0/lib64/stubs"
COMPAT = "/usr/local/cuda-13.2/compat"
CLOSED = [DeviceNode(path=f"/dev/nvidia{n}", readable=False, writable=False) for n in (0, "ctl", "-uvm")]

DRIVER = [
    Fault("driver-unloaded", H100, unloaded(), "driver-not-loaded", says="8 NVIDIA GPUs"),
    Fault("driver-unloaded-single", "workstation-4090", unloaded(), "driver-not-loaded"),
    Fault("nouveau", "workstation-2x4090", unloaded("nouveau"), "nouveau-bound", says="2 NVIDIA GPUs"),
    Fault("nouveau-on-server", "server-4xt4", unloaded("nouveau"), "nouveau-bound"),
    Fault(
        "nouveau-on-the-screen-alone",
        "workstation-2x4090",
        bus(0, driver="nouveau"),
        "nouveau-bound",
        note=True,
        also=("gpu-missing",),
    ),
    Fault(
        "library-upgraded-from-a-driver-that-is-too-old",
        H100,
        both(
            put(gpus=Gpus(error="Driver/library version mismatch", error_code=18)),
            edit("driver", version="570.86.15", module_version="570.86.15"),
            fails(803, "system has unsupported display driver / cuda driver combination", version="13.0"),
        ),
        "driver-library-mismatch",
        says="570.86.15",
    ),
    Fault(
        "none-of-the-boards-gpus-started",
        H100,
        both(edit("gpus", devices=[]), fails(100, "No CUDA GPUs are available")),
        "gpu-missing",
        says="started none of them",
    ),
    Fault(
        "library-upgraded",
        H100,
        both(
            put(gpus=Gpus(error="Driver/library version mismatch", error_code=18)),
            fails(
                803,
                UNEXPECTED.format(f"803: {MISMATCH}"),
                library="/usr/lib/x86_64-linux-gnu/libcuda.so.590.48.01",
            ),
        ),
        "driver-library-mismatch",
        says="580.82.07",
    ),
    Fault(
        "library-upgraded-cuda-alone",
        "workstation-4090",
        fails(803, UNEXPECTED.format(f"803: {MISMATCH}")),
        "driver-library-mismatch",
    ),
    Fault(
        "library-of-another-version",
        "workstation-4090",
        both(
            put(gpus=Gpus(error="Unknown Error", error_code=999)),
            fails(999, "CUDA unknown error", library="/usr/lib/x86_64-linux-gnu/libcuda.so.535.183.01"),
        ),
        "driver-library-mismatch",
        also=("cuda-init-failed",),
        says="535.183.01",
    ),
    Fault(
        "cuda13-on-535",
        A100,
        both(
            edit("driver", version="535.183.01", module_version="535.183.01"),
            edit("gpus", driver_version="535.183.01", cuda_version="12.2"),
            edit("cuda", version="12.2", library="/usr/lib/x86_64-linux-gnu/libcuda.so.535.183.01"),
            blind(TOO_OLD.format(12020)),
        ),
        "cuda-driver-too-old",
        says="CUDA 13.2, which needs driver 580",
    ),
    Fault(
        "cuda12-on-470",
        "server-8xv100-cuda12",
        both(
            edit("driver", version="470.256.02", module_version="470.256.02"),
            edit("gpus", driver_version="470.256.02", cuda_version="11.4"),
            edit("cuda", version="11.4", library="/usr/lib/x86_64-linux-gnu/libcuda.so.470.256.02"),
            edit("torch", cuda_available=False, device_count=0, devices=[]),
        ),
        "cuda-driver-too-old",
        says="525",
    ),
    Fault(
        "cuda13-on-wsl-with-an-old-windows-driver",
        "wsl-4090",
        both(
            edit("gpus", driver_version="551.61", cuda_version="12.4"),
            edit("cuda", version="12.4"),
            blind(TOO_OLD.format(12040)),
        ),
        "cuda-driver-too-old",
    ),
    Fault(
        "cuinit-999",
        "workstation-4090",
        fails(999, "CUDA unknown error - this may be due to an incorrectly set up environment"),
        "cuda-init-failed",
        says="999 (CUDA_ERROR_UNKNOWN)",
    ),
    Fault("cuinit-100", "workstation-4090", fails(100, "No CUDA GPUs are available"), "cuda-init-failed"),
    Fault(
        "cuinit-101", H100, fails(101, UNEXPECTED.format("101: invalid device ordinal")), "cuda-init-failed"
    ),
    Fault("cuinit-3", A100, fails(3, UNEXPECTED.format("3: initialization error")), "cuda-init-failed"),
    Fault("cuinit-2", A100, fails(2, UNEXPECTED.format("2: out of memory")), "cuda-init-failed"),
    Fault("cuinit-46", A100, fails(46, UNEXPECTED.format("46: all devices are busy")), "cuda-init-failed"),
    Fault("cuinit-304", "cloud-t4", fails(304, UNEXPECTED.format("304: OS call failed")), "cuda-init-failed"),
    Fault(
        "cuinit-805", A100, fails(805, UNEXPECTED.format("805: MPS client")), "cuda-init-failed", says="MPS"
    ),
    Fault(
        "cuinit-of-no-known-code", A100, fails(977, UNEXPECTED.format("977")), "cuda-init-failed", says="977"
    ),
    Fault(
        "cuinit-ends-the-process",
        H100,
        both(
            edit("cuda", init=None, count=None, devices=[], stage="cuInit", interrupted="killed by SIGSEGV"),
            edit(
                "torch",
                interrupted="killed by SIGSEGV",
                stage="torch.cuda.is_available()",
                cuda_available=None,
            ),
        ),
        "cuda-init-failed",
        says="SIGSEGV",
    ),
    Fault(
        "tools-alone-in-a-container",
        "container-all",
        both(put(cuda=Cuda(error=ABSENT)), blind(NO_DRIVER)),
        "cuda-init-failed",
        says="libcuda.so.1 cannot be loaded",
    ),
    Fault(
        "tools-alone-on-a-server",
        H100,
        both(put(cuda=Cuda(error=ABSENT)), blind(NO_DRIVER)),
        "cuda-init-failed",
    ),
    Fault(
        "stub-first",
        A100,
        both(
            fails(
                34, UNEXPECTED.format("34: CUDA driver is a stub library"), library=f"{STUBS}/libcuda.so.1"
            ),
            variables(LD_LIBRARY_PATH=f"{STUBS}:/usr/local/lib"),
        ),
        "cuda-stub-library",
        says=STUBS,
    ),
    Fault(
        "stub-of-the-system",
        "workstation-4090",
        fails(34, UNEXPECTED.format("34: CUDA driver is a stub library"), library="/usr/lib64/libcuda.so"),
        "cuda-stub-library",
    ),
    Fault(
        "compat-on-geforce",
        "workstation-4090",
        both(
            fails(
                804,
                UNEXPECTED.format("804: forward compatibility was attempted on non supported HW"),
                library=f"{COMPAT}/libcuda.so.595.10",
            ),
            variables(LD_LIBRARY_PATH=COMPAT),
        ),
        "cuda-stub-library",
        says="804",
    ),
    Fault(
        "compat-older-than-the-driver",
        A100,
        fails(803, UNEXPECTED.format(f"803: {MISMATCH}"), library=f"{COMPAT}/libcuda.so.570.10"),
        "cuda-stub-library",
    ),
    Fault(
        "no-node-for-unified-memory",
        H100,
        both(without_nodes("/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"), fails(999, "CUDA unknown error")),
        "gpu-device-nodes",
        also=("cuda-init-failed",),
        says="/dev/nvidia-uvm is missing",
    ),
    Fault(
        "no-control-node",
        A100,
        both(
            without_nodes("/dev/nvidiactl"),
            put(gpus=Gpus(error="Driver Not Loaded", error_code=9)),
            fails(100, "No CUDA GPUs are available"),
        ),
        "gpu-device-nodes",
        also=("cuda-init-failed", "driver-not-loaded"),
    ),
    Fault(
        "nodes-of-a-group",
        "server-4xt4",
        both(
            edit("driver", nodes=CLOSED),
            put(gpus=Gpus(error="Insufficient Permissions", error_code=4)),
            fails(100, "No CUDA GPUs are available"),
        ),
        "gpu-device-nodes",
        also=("cuda-init-failed",),
        says="may not read and write",
    ),
    Fault(
        "container-lost-its-gpus",
        "container-all",
        both(
            put(gpus=Gpus(error="Unknown Error", error_code=999)),
            fails(999, "CUDA unknown error - this may be due to an incorrectly set up environment"),
        ),
        "container-lost-gpu",
        also=("cuda-init-failed",),
        says="Unknown Error",
    ),
    Fault(
        "pod-lost-its-gpus",
        "pod-8",
        both(put(gpus=Gpus(error="Unknown Error", error_code=999)), fails(304, UNEXPECTED.format("304"))),
        "container-lost-gpu",
        also=("cuda-init-failed",),
    ),
    Fault("docker-without-gpus", H100, contained("docker"), "container-without-gpus", says="8 NVIDIA GPUs"),
    Fault(
        "docker-without-gpus-for-a-rank",
        H100,
        contained("docker", variables(CUDA_VISIBLE_DEVICES="0,1")),
        "container-without-gpus",
        also=("cuda-visible-devices",),
    ),
    Fault("podman-without-gpus", A100, contained("podman"), "container-without-gpus"),
    Fault("apptainer-without-nv", A100, contained("apptainer"), "container-without-gpus"),
    Fault("pod-without-a-limit", H100, contained("kubernetes"), "container-without-gpus"),
    Fault(
        "docker-for-the-cpu",
        H100,
        contained("docker", variables(NVIDIA_VISIBLE_DEVICES="void")),
        "container-without-gpus",
        note=True,
    ),
    Fault(
        "cuinit-hangs",
        H100,
        both(
            edit("cuda", init=None, count=None, devices=[], stage="cuInit", interrupted="no answer in 10 s"),
            edit(
                "torch",
                interrupted="no answer in 13 s",
                stage="torch.cuda.is_available()",
                cuda_available=None,
            ),
            gpu(persistence=True),
        ),
        "driver-hangs",
        says="cuInit: no answer in 10 s",
    ),
    Fault(
        "nvml-hangs",
        A100,
        put(gpus=Gpus(hanging=["nvmlInit"], interrupted="no answer in 12 s")),
        "driver-hangs",
        says="nvmlInit",
    ),
    Fault(
        "nvml-hangs-for-one-gpu",
        A100,
        both(gpu(persistence=True), edit("gpus", hanging=["nvmlDeviceGetNvLinkState of GPU 3"])),
        "driver-hangs",
        says="GPU 3",
    ),
    Fault(
        "torch-hangs-in-the-driver",
        H100,
        both(
            edit(
                "torch", interrupted="no answer in 13 s", stage="torch.cuda.device_count()", device_count=None
            ),
            gpu(persistence=True),
        ),
        "driver-hangs",
    ),
    Fault(
        "cuinit-slow-without-persistence",
        H100,
        both(
            edit("cuda", init=None, count=None, devices=[], stage="cuInit", interrupted="no answer in 10 s"),
            gpu(persistence=False),
        ),
        "driver-hangs",
        says="may only be slow",
    ),
]

BUILD = [
    Fault(
        "wheel-older-than-the-gpu",
        "workstation-5090",
        edit("torch", arch_list=["sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90"]),
        "gpu-arch-unsupported",
        says="12.0",
    ),
    Fault(
        "wheel-newer-than-the-gpu",
        "server-8xv100-cuda12",
        edit("torch", arch_list=["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120", "compute_120"]),
        "gpu-arch-unsupported",
        says="7.0",
    ),
    Fault(
        "made-for-one-gpu-alone",
        "board-8xb200",
        edit("torch", arch_list=["sm_80", "sm_90a", "compute_90a"]),
        "gpu-arch-unsupported",
    ),
    Fault(
        "torch-py-in-the-folder",
        "workstation-4090",
        both(
            edit(
                "torch",
                file="/home/me/torch.py",
                version=None,
                cuda=None,
                nccl=None,
                cudnn=None,
                libraries=[],
            ),
            edit("torch", shadows=[Shadow(module="torch", path="/home/me/torch.py", loaded=True)]),
            edit("torch", cuda_available=None, device_count=None, devices=[], arch_list=[]),
            put(torchvision=Torchvision()),
        ),
        "torch-shadowed",
        says="/home/me/torch.py",
    ),
    Fault(
        "random-py-in-the-folder",
        "workstation-4090",
        broken(
            "random", "/home/me/random.py", "cannot import name 'Random' from 'random' (/home/me/random.py)"
        ),
        "torch-shadowed",
        says="/home/me/random.py",
    ),
    Fault(
        "signal-py-on-pythonpath",
        H100,
        broken("signal", "/opt/lib/signal.py", "module 'signal' has no attribute 'SIGINT'", "AttributeError"),
        "torch-shadowed",
        also=("torch-import-broken",),
        says="/opt/lib/signal.py",
    ),
    Fault(
        "logging-folder",
        H100,
        broken(
            "logging",
            "/home/me/logging/__init__.py",
            "module 'logging' has no attribute 'Filter'",
            "AttributeError",
        ),
        "torch-shadowed",
        says="/home/me/logging is imported",
    ),
    Fault(
        "types-py-with-a-syntax-error",
        A100,
        broken("types", "/home/me/types.py", "invalid syntax (types.py, line 3)", "SyntaxError"),
        "torch-shadowed",
        also=("torch-import-broken",),
    ),
    Fault(
        "queue-py-that-never-ends",
        "workstation-4090",
        both(
            edit(
                "torch",
                imported=None,
                interrupted="no answer in 90 s",
                stage="import torch",
                version=None,
                cuda=None,
            ),
            edit(
                "torch", shadows=[Shadow(module="queue", path="/home/me/queue.py")], nccl=None, libraries=None
            ),
            edit("torch", cuda_available=None, device_count=None, devices=[]),
            put(torchvision=Torchvision()),
        ),
        "torch-shadowed",
        also=("torch-import-broken",),
        says="queue.py",
    ),
    Fault(
        "secrets-py-in-the-folder",
        "workstation-4090",
        edit("torch", shadows=[Shadow(module="secrets", path="/home/me/secrets.py", loaded=False)]),
        "torch-shadowed",
        says="numpy.random",
    ),
    Fault(
        "torchaudio-of-another-torch",
        A100,
        installed(Distribution(name="torchaudio", version="2.5.1", location=HERE, requires=["torch==2.5.1"])),
        "torchvision-mismatch",
        says="torchaudio 2.5.1",
    ),
    Fault(
        "torchvision-of-another-torch",
        A100,
        put(
            torchvision=Torchvision(
                version="0.20.1",
                requires_torch=["torch==2.5.1"],
                torch_version="2.15.0+cu132",
                library=f"{HERE}/torchvision/_C.so",
                operators_load=False,
                operators_error="undefined symbol",
            )
        ),
        "torchvision-mismatch",
    ),
    Fault(
        "nccl-of-two-cudas",
        H100,
        installed(
            wheel("nvidia-nccl-cu12", "2.27.5", "nvidia/nccl/lib/libnccl.so.2", 400_796_408, 395_000_000)
        ),
        "cuda-library-conflict",
        says="nvidia-nccl-cu12 and nvidia-nccl-cu13",
    ),
    Fault(
        "nccl-overwritten",
        H100,
        both(
            installed(without="nvidia-nccl-cu13"),
            installed(
                wheel("nvidia-nccl-cu13", "2.30.7", "nvidia/nccl/lib/libnccl.so.2", 395_000_000, 400_796_408),
                wheel("nvidia-nccl-cu12", "2.27.5", "nvidia/nccl/lib/libnccl.so.2", 400_796_408),
            ),
            edit("torch", nccl="2.27.5"),
        ),
        "cuda-library-conflict",
        says="nvidia-nccl-cu12 wrote over it",
    ),
    Fault(
        "nccl-of-the-system-first",
        A100,
        both(
            mapped("/usr/lib/x86_64-linux-gnu/libnccl.so.2.18.1", without="libnccl"),
            variables(LD_LIBRARY_PATH="/usr/lib/x86_64-linux-gnu"),
            edit("torch", nccl="2.18.1"),
        ),
        "cuda-library-conflict",
        also=("nccl-version-mismatch",),
        says="/usr/lib/x86_64-linux-gnu/libnccl.so.2.18.1",
    ),
    Fault(
        "cudnn-preloaded",
        A100,
        both(
            mapped("/opt/cudnn/lib/libcudnn.so.9.1.0", without="libcudnn"),
            variables(LD_PRELOAD="/opt/cudnn/lib/libcudnn.so.9.1.0"),
        ),
        "cuda-library-conflict",
    ),
    Fault(
        "two-copies-of-the-runtime",
        A100,
        mapped("/usr/local/cuda-12.8/lib64/libcudart.so.12.8.90"),
        "cuda-library-conflict",
        says="libcudart 2 times",
    ),
    Fault("nccl-not-the-wheels", A100, edit("torch", nccl="2.18.1"), "nccl-version-mismatch", says="2.18.1"),
    Fault(
        "nccl-older-than-the-pin",
        H100,
        both(
            edit(
                "distributions",
                installed=lambda old: [
                    wheel("nvidia-nccl-cu13", "2.27.3", "nvidia/nccl/lib/libnccl.so.2", 395_000_000)
                    if d.name == "nvidia-nccl-cu13"
                    else d
                    for d in old
                ],
            ),
            edit("torch", nccl="2.27.3"),
        ),
        "nccl-version-mismatch",
        says="was built with 2.30.7",
    ),
    Fault(
        "numpy-2-beside-torch-2.2",
        "server-8xv100-cuda12",
        both(
            edit("torch", version="2.2.2+cu121", cuda="12.1", nccl="2.19.3"),
            edit("distributions", installed=[Distribution(name="numpy", version="2.4.1", location=HERE)]),
            put(torchvision=Torchvision()),
        ),
        "numpy-abi",
    ),
    Fault(
        "numpy-that-does-not-start",
        A100,
        edit("torch", warnings=["UserWarning: Failed to initialize NumPy: _ARRAY_API not found"]),
        "numpy-abi",
    ),
    Fault(
        "nccl-that-hangs",
        "gh200",
        both(edit("torch", nccl="2.29.2"), edit("host", machine="aarch64")),
        "known-bad-version",
        also=("nccl-version-mismatch",),
    ),
    Fault(
        "nccl-with-launch-blocking",
        "server-8xv100-cuda12",
        both(
            edit("torch", nccl="2.14.3", version="2.0.1+cu118", cuda="11.8"),
            edit("distributions", installed=[]),
            put(torchvision=Torchvision()),
            variables(CUDA_LAUNCH_BLOCKING="1"),
        ),
        "known-bad-version",
        also=("debug-variable-left",),
    ),
    Fault(
        "torch-2.7.0-and-device-id",
        A100,
        both(
            edit("torch", version="2.7.0+cu126", cuda="12.6", nccl="2.26.2"),
            edit("distributions", installed=[]),
            put(torchvision=Torchvision()),
        ),
        "known-bad-version",
        note=True,
    ),
    Fault(
        "no-distributed-package",
        H100,
        edit("torch", distributed_available=False, nccl_available=False, gloo_available=False),
        "distributed-not-built",
    ),
    Fault("no-nccl-in-the-build", H100, edit("torch", nccl_available=False, nccl=None), "nccl-not-built"),
    Fault("no-compiler", A100, edit("python", compiler=""), "triton-toolchain", note=True),
    Fault("no-headers", A100, edit("python", headers=False), "triton-toolchain", note=True),
    Fault(
        "cpu-build-on-a-gpu-machine",
        "workstation-4090",
        both(
            edit(
                "torch",
                version="2.15.0+cpu",
                cuda=None,
                nccl=None,
                nccl_available=False,
                cudnn=None,
                libraries=[],
            ),
            edit("torch", cuda_available=False, device_count=0, devices=[], arch_list=[]),
        ),
        "torch-cpu-build",
    ),
]

FAULTS = [*DRIVER, *BUILD]

OLD_BUT_RIGHT = both(
    edit("driver", version="525.60.13", module_version="525.60.13"),
    edit("gpus", driver_version="525.60.13", cuda_version="12.0"),
    edit("torch", version="2.10.0+cu129", cuda="12.9", nccl="2.27.5", cudnn="9.15.1"),
    edit("distributions", installed=[Distribution(name="numpy", version="2.4.1", location=HERE)]),
    put(torchvision=Torchvision()),
)
VARIANTS = [
    Variant(
        "pod-that-was-asked-to-have-no-gpu",
        H100,
        both(
            edit("host", container="kubernetes"),
            edit("driver", nodes=[DeviceNode(path="/dev/nvidiactl", readable=True, writable=True)]),
            edit("gpus", devices=[]),
            fails(100, "No CUDA GPUs are available"),
            variables(NVIDIA_VISIBLE_DEVICES="none"),
        ),
    ),
    Variant(
        "forward-compatibility-that-works",
        A100,
        both(
            edit("driver", version="535.183.01", module_version="535.183.01"),
            edit("gpus", driver_version="535.183.01", cuda_version="12.2"),
            edit("cuda", library=f"{COMPAT}/libcuda.so.595.10", version="13.2"),
            variables(LD_LIBRARY_PATH=COMPAT),
        ),
    ),
    Variant(
        "forward-compatibility-before-torch-was-asked",
        A100,
        both(
            edit("driver", version="535.183.01", module_version="535.183.01"),
            edit("gpus", driver_version="535.183.01", cuda_version="12.2"),
            edit("cuda", library=f"{COMPAT}/libcuda.so.595.10", version="13.2"),
            edit("torch", cuda_available=None, device_count=None, devices=[], stage="import torch"),
        ),
    ),
    Variant(
        "stubs-on-the-path-and-not-taken", H100, variables(LD_LIBRARY_PATH=f"{STUBS}:/usr/local/cuda/lib64")
    ),
    Variant("nodes-made-on-the-way", H100, without_nodes("/dev/nvidia-uvm", "/dev/nvidia-uvm-tools")),
    Variant("some-nodes-closed", "server-4xt4", edit("driver", nodes=lambda nodes: [*nodes[:-3], *CLOSED])),
    Variant("no-persistence-and-no-haste", A100, gpu(persistence=False)),
    Variant("oldest-driver-of-the-major-version", A100, OLD_BUT_RIGHT),
    Variant(
        "container-of-nvidia-without-wheels",
        "container-all",
        both(
            edit("torch", version="2.10.0a0+b4e4ee81d3.nv25.11", nccl="2.28.8"),
            edit(
                "torch",
                libraries=[
                    "/usr/lib/x86_64-linux-gnu/libnccl.so.2.28.8",
                    "/usr/local/cuda/lib64/libcudart.so.13.0.1",
                ],
            ),
            edit("distributions", installed=[Distribution(name="numpy", version="1.26.4", location=HERE)]),
            put(torchvision=Torchvision()),
        ),
    ),
    Variant(
        "nccl-upgraded-on-purpose",
        H100,
        both(
            installed(without="nvidia-nccl-cu13"),
            installed(wheel("nvidia-nccl-cu13", "2.31.1", "nvidia/nccl/lib/libnccl.so.2", 396_000_000)),
            edit("torch", nccl="2.31.1"),
        ),
    ),
    Variant(
        "tensorflow-beside-it",
        A100,
        installed(
            wheel("nvidia-cublas-cu12", "12.8.4.1", "nvidia/cublas/lib/libcublas.so.12", 100_000_000),
            wheel("nvidia-cuda-runtime-cu12", "12.8.90", "nvidia/cuda_runtime/lib/libcudart.so.12", 700_000),
        ),
    ),
    Variant(
        "openmp-twice",
        "workstation-4090",
        mapped("/opt/intel/lib/libiomp5.so", "/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0"),
    ),
    Variant(
        "scripts-with-names-of-modules",
        "workstation-4090",
        edit(
            "torch",
            shadows=[
                Shadow(module=name, path=f"/home/me/{name}.py", loaded=False)
                for name in ("test", "cmd", "profile")
            ],
        ),
    ),
    Variant(
        "torchaudio-that-fits",
        A100,
        installed(
            Distribution(name="torchaudio", version="2.15.0", location=HERE, requires=["torch==2.15.0"])
        ),
    ),
    Variant(
        "b300",
        "board-8xb200",
        edit("torch", devices=lambda d: [replace(one, capability="10.3") for one in d]),
    ),
    Variant(
        "for-amd",
        "laptop-without-gpu",
        edit(
            "torch",
            version="2.15.0+rocm7.1",
            cuda=None,
            hip="7.1",
            nccl=None,
            libraries=[],
            arch_list=["gfx942"],
        ),
    ),
    Variant(
        "container-for-the-cpu-on-a-host-with-gpus",
        H100,
        contained(
            "docker",
            edit(
                "torch",
                version="2.15.0+cpu",
                cuda=None,
                nccl=None,
                nccl_available=False,
                libraries=[],
                warnings=[],
            ),
            edit("torch", cuda_error=None, arch_list=[]),
        ),
    ),
    Variant(
        "pod-for-the-cpu-on-a-host-with-gpus",
        H100,
        contained(
            "kubernetes", variables(NVIDIA_VISIBLE_DEVICES="void", KUBERNETES_SERVICE_HOST="10.96.0.1")
        ),
    ),
    Variant("nothing-of-cuda-is-known", H100, put(cuda=None)),
    Variant("nothing-of-the-driver-is-known", H100, put(driver=None, cuda=None)),
    Variant("nothing-of-the-wheels-is-known", A100, put(distributions=None)),
]
