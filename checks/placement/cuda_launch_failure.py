"""A GPU kernel crashed, or could not be started.

## What happens

"CUDA error: unspecified launch failure", "misaligned address", "an illegal instruction was encountered", "the launch
timed out and was terminated", "too many resources requested for launch", "invalid configuration argument", or Triton's
"out of resource: shared memory, Required: 147456, Hardware limit: 101376".

## Why

- Misaligned address: a kernel loads several numbers at once from a slice that does not start where it should.
- Too many resources, out of resource, invalid configuration: the kernel was written for a GPU with more registers,
  threads or shared memory than this one, or got an empty tensor.
- Launch timed out: the GPU drives a display, and the system ends kernels that run for seconds.
- Illegal instruction, invalid program counter: code for another GPU, a broken build, or a failing GPU.
- Unspecified launch failure: a crash of which CUDA says no more. At random and on one GPU only, suspect that GPU.

## How to tell

`CUDA_LAUNCH_BLOCKING=1` makes the traceback point at the operation; without it the error is reported late. Look for an
Xid at the same time in `dmesg -T`: Xid 13 blames the program, 48, 79, 94 and 95 blame the GPU.

## See also

- [CUDA's error codes](https://docs.nvidia.com/cuda/cuda-runtime-api/cuda_runtime_api/group__CUDART__TYPES.html): every code and what it means
- [Xid errors](https://docs.nvidia.com/deploy/xid-errors/index.html): what the kernel log says of a GPU
"""

from gpudoctor import Check, Fix, Kind, Severity, Symptom

WORDS = (
    r"misaligned address|an illegal instruction was encountered|invalid program counter|hardware stack error|"
    r"operation not supported on global/shared address space|the launch timed out and was terminated|"
    r"too many (?:resources requested for|blocks in cooperative) launch|invalid configuration argument|tensor memory not completely freed"
)
CODES = (
    r"CUDA_ERROR_(?:LAUNCH_FAILED|MISALIGNED_ADDRESS|ILLEGAL_INSTRUCTION|LAUNCH_TIMEOUT|LAUNCH_OUT_OF_RESOURCES|INVALID_PC)|"
    r"cudaError(?:LaunchFailure|MisalignedAddress|IllegalInstruction|LaunchTimeout|LaunchOutOfResources|InvalidPc|"
    r"HardwareStackError|InvalidConfiguration)"
)

check = Check(
    severity=Severity.ERROR,
    follows=["device-side-assert"],
    symptoms=[
        r"(?P<error>unspecified launch failure)",
        # "CUDA error: …", "cuda runtime error (74) : …", "Triton Error [CUDA]: …", "Cuda failure 716 '…", "error=74 : …"
        (
            rf"(?:(?:CUDA|Cuda|cuda|HIP) (?:runtime |driver )?(?:[Ee]rror|failure)|Triton Error \[(?:CUDA|HIP)\]|error=\d+ ).{{0,12}}"
            rf"(?P<error>{WORDS})"
        ),
        rf"Check failed: \w+ == cudaSuccess \(\d+ vs\. 0\) {{1,4}}(?P<error>{WORDS})",  # Caffe
        r"(?:RuntimeError|AcceleratorError): CUDA error: (?P<error>invalid argument|invalid resource handle)",
        rf"\b(?P<error>{CODES})\b",
        Symptom(
            r"out of resources?: (?P<resource>[\w ]+), Required: (?P<needed>\d+), Hardware limit: (?P<limit>\d+)",
            unless=r"Ignoring this choice",  # torch.compile tries several kernels and leaves out what does not fit
        ),
        # the number alone, before CUDA 10.1 and since
        r"cuda runtime error \((?:4|6|74|702|716|719)\)(?! ?:)",
    ],
    message="a kernel failed[: <error>][: it needs <needed> of <resource> and this GPU has <limit>]",
    fixes=[
        Fix(
            "Let the traceback point at the operation",
            "export CUDA_LAUNCH_BLOCKING=1  # then start the training as before",
        ),
        Fix(
            "On a cluster, where it is always the same node: leave it out, and send the administrators its name",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix(
            "Give the operation memory of its own instead of a slice", "x = x.contiguous().clone()", Kind.EDIT
        ),
        Fix(
            "Build the extension again for this GPU",
            "python -m pip install --no-build-isolation --no-cache-dir --force-reinstall --no-deps --no-binary=PACKAGE PACKAGE",
        ),
        Fix(
            "See whether the driver blames the program or the GPU; without root, ask the administrators for these lines",
            "sudo dmesg -T | grep -i xid",
            Kind.ADMIN,
        ),
        Fix(
            "Do without compiled kernels; slower, and it shows whether they are the fault",
            "export TORCH_COMPILE_DISABLE=1",
            Kind.MITIGATION,
        ),
    ],
)
