"""cuda-init-failed: seen in logs."""

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.facts import Cuda, CudaDevice, Driver, Gpu, Gpus, Host, Launch, Torch
from gpudoctor.guard import examine
from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Role, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("cuda-init-failed")
UNEXPECTED = (
    "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling "
    "NumCudaDevices() that might have already set an error? Error "
)
MESSAGE = 'CUDA could not start (error 999 "unknown error"): no GPU can be used in this process'
ENVIRONMENT = (
    "/data/env/lib/python3.10/site-packages/torch/cuda/__init__.py:128: UserWarning: CUDA initialization: CUDA unknown "
    "error - this may be due to an incorrectly set up environment, e.g. changing env variable CUDA_VISIBLE_DEVICES after "
    "program start. Setting the available devices to be zero."
)
FAILED = "UserWarning: CUDA initialization: CUDA driver initialization failed, you might not have a CUDA gpu."
FORWARD_COMPATIBILITY = UNEXPECTED + "804: forward compatibility was attempted on non supported HW"
STUB = UNEXPECTED + "34: CUDA driver is a stub library"
MPS = UNEXPECTED + "805: MPS client failed to connect to the MPS control daemon or the MPS server"
CONTAINER_BANNER = "[[ CUDA Driver UNAVAILABLE (cuInit(0) returned 804) ]]"
EXAMPLES = {
    "RuntimeError: CUDA error: the MPS client has been terminated by the server": (
        'CUDA could not start ("MPS client has been terminated by the server"): no GPU can be used in this process'
    ),
    "RuntimeError: cuda runtime error (999)": "CUDA could not start (error 999): no GPU can be used in this process",
    "| NVIDIA-SMI 535.54.03   Driver Version: 536.23\nfailed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected": 'CUDA could not start ("CUDA_ERROR_NO_DEVICE"): no GPU can be used in this process',
    "[999] Call to cuInit results in CUDA_ERROR_UNKNOWN": "CUDA could not start (error 999): no GPU can be used in this process",
    "cuda driver library init failure: 999": "CUDA could not start (error 999): no GPU can be used in this process",
    "cudaGetDeviceCount() call failed with error 804": "CUDA could not start (error 804): no GPU can be used in this process",
    "cudaGetDeviceCount returned 999": "CUDA could not start (error 999): no GPU can be used in this process",
    "[Hint: 'cudaErrorInitializationError'. The API call failed because the CUDA driver and runtime could not be initialized. ]": 'CUDA could not start ("cudaErrorInitializationError"): no GPU can be used in this process',
    ENVIRONMENT: MESSAGE,
    FAILED: "CUDA could not start: no GPU can be used in this process",
    FORWARD_COMPATIBILITY: (
        'CUDA could not start (error 804 "forward compatibility was attempted on non supported HW"): no GPU '
        "can be used in this process"
    ),
    STUB: (
        'CUDA could not start (error 34 "CUDA driver is a stub library"): no GPU can be used in this process'
    ),
    UNEXPECTED + "304: OS call failed or operation not supported on this OS": (
        'CUDA could not start (error 304 "OS call failed or operation not supported on this OS"): no GPU can '
        "be used in this process"
    ),
    MPS: (
        'CUDA could not start (error 805 "MPS client failed to connect to the MPS control daemon or the MPS '
        'server"): no GPU can be used in this process'
    ),
    UNEXPECTED + "100: no CUDA-capable device is detected": (
        'CUDA could not start (error 100 "no CUDA-capable device is detected"): no GPU can be used in this '
        "process"
    ),
    "RuntimeError: cuda runtime error (999) : unknown error at /opt/work/aten/src/THC/THCGeneral.cpp:50": MESSAGE,
    "THCudaCheck FAIL file=/pytorch/aten/src/THC/THCGeneral.cpp line=50 error=30 : unknown error": (
        'CUDA could not start (error 30 "unknown error"): no GPU can be used in this process'
    ),
    "numba.cuda.cudadrv.driver.CudaAPIError: [34] Call to cuInit results in CUDA_ERROR_STUB_LIBRARY": (
        "CUDA could not start (error 34): no GPU can be used in this process"
    ),
    'process_linux.go:449: running hook: nvidia-container-cli: initialization error: cuda error: out of memory\\n": unknown.': (
        'CUDA could not start ("out of memory"): no GPU can be used in this process'
    ),
    "nvidia-container-cli: initialization error: cuda error: no cuda-capable device is detected": (
        'CUDA could not start ("no cuda-capable device is detected"): no GPU can be used in this process'
    ),
    "failed call to cuInit: CUDA_ERROR_UNKNOWN: unknown error": (
        'CUDA could not start ("unknown error"): no GPU can be used in this process'
    ),
    CONTAINER_BANNER: "CUDA could not start (error 804): no GPU can be used in this process",
    "CUDA error: MPS server is not ready to accept new MPS client requests": (
        'CUDA could not start ("MPS server is not ready to accept new MPS client"): no GPU can be used in this '
        "process"
    ),
    "failed to create context: CUDA_ERROR_MPS_CONNECTION_FAILED": (
        'CUDA could not start ("CUDA_ERROR_MPS_CONNECTION_FAILED"): no GPU can be used in this process'
    ),
    "NCCL WARN Cuda failure 'initialization error'": (
        'CUDA could not start ("initialization error"): no GPU can be used in this process'
    ),
    "RuntimeError: CUDA error: initialization error": (
        'CUDA could not start ("initialization error"): no GPU can be used in this process'
    ),
    (
        '  File "/data/env/torch/cuda/__init__.py", line 298, in _lazy_init\n    torch._C._cuda_init()\n'
        "RuntimeError: CUDA error: unknown error"
    ): 'CUDA could not start ("unknown error"): no GPU can be used in this process',
    "cudaGetDeviceCount returned 100": "CUDA could not start (error 100): no GPU can be used in this process",
    "cupy.cuda.runtime.CUDARuntimeError: cudaErrorUnknown: unknown error": "CUDA could not start: no GPU can be used in this process",
    "RuntimeError: CUDA error: driver shutting down": 'CUDA could not start ("driver shutting down"): no GPU can be used in this process',
    "RuntimeError: CUDA error: unknown error": 'CUDA could not start ("unknown error"): no GPU can be used in this process',
}
NOT_THIS = [
    "cudaGetDeviceCount returned 4 devices",
    UNEXPECTED + "802: system not yet initialized",
    UNEXPECTED + "803: system has unsupported display driver / cuda driver combination",
    "node0:4711:4811 [0] init.cc:1 NCCL WARN Cuda failure 999 'unknown error'",
    "RuntimeError: Found no NVIDIA driver on your system.",
    (
        "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the "
        "'spawn' start method\nRuntimeError: CUDA error: initialization error"
    ),
]


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (ENVIRONMENT, "CUDA_VISIBLE_DEVICES"),
        (FAILED, "CUDA_VISIBLE_DEVICES"),
        (FORWARD_COMPATIBILITY, "LD_LIBRARY_PATH"),
        (STUB, "LD_LIBRARY_PATH"),
        (MPS, "CUDA_MPS_PIPE_DIRECTORY"),
        (CONTAINER_BANNER, "LD_LIBRARY_PATH"),
    ],
)
def test_the_code_tells_what_helps_first(text, command):
    (seen,) = matches(text, [CHECK])
    assert command in seen.finding.fixes[0].command


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


HERE = {"gpus": Gpus(devices=[Gpu(index=0)]), "driver": Driver(version="580.82.07")}


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (999, "CUDA_ERROR_UNKNOWN"),
        (100, "CUDA_ERROR_NO_DEVICE"),
        (802, "CUDA_ERROR_SYSTEM_NOT_READY"),
        (805, "the MPS daemon cannot be reached"),
        (12345, "cuInit gives error 12345: the kernel log may say why"),
    ],
)
def test_each_code_is_explained(code, says):
    _, [finding] = run(cuda=Cuda(library="/usr/lib/libcuda.so.1", init=code), **HERE)
    assert says in finding.message


def test_a_device_that_is_counted_and_does_not_answer():
    devices = [CudaDevice(ordinal=n, error=999 if n == 2 else None) for n in range(4)]
    _, [finding] = run(cuda=Cuda(library="/usr/lib/libcuda.so.1", init=0, count=4, devices=devices), **HERE)
    assert finding.message.startswith("CUDA counts 4 GPUs, and device 2 gives error 999")
    well = [CudaDevice(ordinal=n) for n in range(4)]
    assert run(cuda=Cuda(library="/usr/lib/libcuda.so.1", init=0, count=4, devices=well), **HERE)[1] == []


def test_what_another_check_explains_follows_from_it():
    snapshot = Snapshot({"cuda": Cuda(library="libcuda.so.1", init=803), **HERE})
    report = diagnose(snapshot, Registry().checks(["cuda-init-failed", "driver-library-mismatch"]))
    assert [(f.id, f.role, f.severity) for f in report.findings] == [
        ("driver-library-mismatch", Role.CAUSE, Severity.ERROR),
        ("cuda-init-failed", Role.CONSEQUENCE, Severity.NOTE),
    ]


def test_what_only_a_driver_says_shows_that_there_is_one():
    assert len(run(cuda=Cuda(library="/usr/lib/libcuda.so.1", init=304))[1]) == 1
    assert run(cuda=Cuda(library="/usr/lib/libcuda.so.1", init=999))[1] == []


def test_mig_without_instances_is_thought_of():
    gpus = Gpus(devices=[Gpu(index=0, mig=True)])
    _, [finding] = run(cuda=Cuda(library="/usr/lib/libcuda.so.1", init=100), gpus=gpus)
    assert "mig.mode" in finding.fixes[0].command


def test_a_container_with_the_tools_alone():
    _, [finding] = run(cuda=Cuda(error="cannot open"), host=Host(container="docker"), **HERE)
    assert "the driver's tools alone" in finding.message
    assert "NVIDIA_DRIVER_CAPABILITIES=compute,utility" in finding.fixes[0].command


def test_a_library_that_ends_the_process():
    crashed = Cuda(library="/usr/lib/libcuda.so.1", stage="cuInit", interrupted="killed by SIGSEGV")
    _, [finding] = run(cuda=crashed, **HERE)
    assert "cuInit ended the process that called it (killed by SIGSEGV)" in finding.message


@pytest.mark.parametrize(
    "facts",
    [
        {"cuda": Cuda(library="l", init=0), **HERE},
        {
            "cuda": Cuda(library="l", init=100),
            "launch": Launch(variables={"CUDA_VISIBLE_DEVICES": "none"}),
            "gpus": Gpus(devices=[Gpu(index=0, name="A100")]),
            "driver": Driver(version="580.82.07"),
        },  # cuda-visible-devices
        {
            "cuda": Cuda(library="l", init=100),
            "launch": Launch(variables={"CUDA_VISIBLE_DEVICES": "MIG-5c0f0000-77aa-4b1c-9e2d-0123456789ab"}),
            "gpus": Gpus(devices=[Gpu(index=0, name="A100", mig=False)]),
            "driver": Driver(version="580.82.07"),
        },  # cuda-visible-devices
        {
            "cuda": Cuda(library="l", init=100)
        },  # a library without a driver: driver-not-loaded, or no GPU at all
        {"cuda": Cuda(error="cannot open")},
        {"cuda": Cuda(error="cannot open"), "torch": Torch(imported=True, version="2.15.0+cpu"), **HERE},
        {"cuda": Cuda(library="l", stage="cuInit", interrupted="no answer in 10 s"), **HERE},  # driver-hangs
    ],
)
def test_environment_passed(facts):
    result, found = run(**facts)
    assert (result.status, found) == (CheckStatus.PASSED, [])


@pytest.mark.parametrize("facts", [{}, {"cuda": Cuda()}])
def test_environment_unknown(facts):
    assert run(**facts)[0].status is CheckStatus.UNKNOWN


LISTED = Gpus(driver_version="550.90.07", devices=[Gpu(index=0, name="NVIDIA L4")])
BUILT = Torch(imported=True, version="2.4.1+cu121", cuda="12.1", cuda_available=False)


def told(**facts):
    result, found = run(**facts)
    return [finding.severity for finding in found], result.status


def test_a_ticket_whose_torch_finds_none_of_the_gpus_that_are_listed() -> None:
    assert told(gpus=LISTED, torch=BUILT) == ([Severity.WARNING], CheckStatus.FOUND)


def test_a_ticket_that_says_why_torch_finds_none() -> None:
    hidden = Launch(variables={"CUDA_VISIBLE_DEVICES": ""})
    assert told(gpus=LISTED, torch=BUILT, launch=hidden) == ([], CheckStatus.PASSED)
    cpu = Torch(imported=True, version="2.4.1+cpu", cuda_available=False)
    assert told(gpus=LISTED, torch=cpu) == ([], CheckStatus.PASSED)


def test_a_ticket_without_gpus_or_torch_does_not_tell() -> None:
    assert told(gpus=Gpus(error="nvidia-smi gave nothing"), torch=BUILT) == ([], CheckStatus.UNKNOWN)
    assert told(gpus=LISTED) == ([], CheckStatus.UNKNOWN)


def test_what_the_driver_answered_counts_where_its_version_is_not_known() -> None:
    assert told(cuda=Cuda(init=999, stage="cuInit"), torch=BUILT) == ([Severity.ERROR], CheckStatus.FOUND)
    assert told(cuda=Cuda(init=100, stage="cuInit"), torch=BUILT) == ([], CheckStatus.PASSED)
    assert told(cuda=Cuda(init=804, stage="cuInit"), torch=BUILT) == ([Severity.ERROR], CheckStatus.FOUND)
