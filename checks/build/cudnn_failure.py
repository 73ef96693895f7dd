"""cuDNN reports an error, and nothing before it explains why.

## What happens

"cuDNN error: CUDNN_STATUS_INTERNAL_ERROR" (or NOT_INITIALIZED, ALLOC_FAILED, EXECUTION_FAILED, MAPPING_ERROR …) in a
convolution, an RNN or attention; "Unable to find a valid cuDNN algorithm to run convolution"; "GET was unable to find
an engine to execute this computation".

## Why

The status rarely says what is wrong. Most often first:

- The GPU's memory is full, of this job or of another one. cuDNN needs room for its handle and its workspace.
- An operation before it failed: a device-side assert, an index out of range, an illegal access. CUDA reports late,
  and cuDNN is the next to ask.
- Two copies of cuDNN are loaded (`cuda-library-conflict`).
- NOT_SUPPORTED and BAD_PARAM: this input is at fault, such as one that is not contiguous, or larger than 2^31 elements.
- The GPU itself: look for Xid in `sudo dmesg`.

## How to tell

Run once with `CUDA_LAUNCH_BLOCKING=1`, and read the first error. Look at `nvidia-smi` just before it starts. With
`torch.backends.cudnn.enabled = False` the true error shows, or it is gone: then it is cuDNN's own.

## See also

- [pytorch#81620](https://github.com/pytorch/pytorch/issues/81620): CUDNN_STATUS_INTERNAL_ERROR where cuDNN had no memory left for its kernels
- [cuDNN's status values](https://docs.nvidia.com/deeplearning/cudnn/backend/latest/api/cudnn-graph-library.html): `cudnnStatus_t`, value by value
"""

from gpudoctor import Check, Fix, Kind, Severity

# A warning of torch 2.3 tries another plan after NOT_SUPPORTED; versions and architectures are failures of their own.
STATUS = r"(?P<status>CUDNN_STATUS_(?!SUCCESS|\w*VERSION_MISMATCH|SUBLIBRARY|ARCH_MISMATCH)[A-Z]\w{3,60})"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"^CuDNNError {2,}Traceback \(most recent",  # a notebook's first line, until 0.3
        # "CuDNN error:" until 0.4, "RuntimeError: CUDNN_STATUS_…" alone until 0.3, numbers in brackets from others
        rf"(cuDNN|CuDNN|cudnn|CUDNN|DNN)\w* [Ee]rror:? .{{0,60}}?{STATUS}",
        r"RuntimeError: [Cc]uDNN error: (?P<status>CUDNN_STATUS_SUCCESS)",  # a CUDA older than the GPU
        rf"(RuntimeError|Exception|AssertionError|CuDNNError|InternalError): (\d+: )?(b')?{STATUS}",
        rf"(?:cuDNN|CuDNN|cudnn|CUDNN) (?:failure \d+|failed with status):? {STATUS}",  # onnxruntime, CTranslate2
        rf"RuntimeError: .{{0,120}}cudnn_status: {STATUS}",
        rf"[Cc]ould not create cudnn handle: {STATUS}",
        r"cuDNN Frontend error: ",
        r"(GET|FIND) was unable to find an engine to execute this computation",
        r"[Uu]nable to find a valid cuDNN algorithm to run",
        r"no valid convolution algorithms available in CuDNN",
        r"Failed to get convolution algorithm\. This is probably because cuDNN failed to initialize",
        r"You can try to repro this exception using the following code snippet\. If that doesn't trigger the error",
        r"RuntimeError: (?P<status>miopenStatus(?!Success)\w{4,60})",  # ROCm
    ],
    message="[cuDNN answered <status>; ]cuDNN could not do its part: mostly because memory ran out, or after an error "
    "that CUDA had not reported yet",
    follows=[
        "cuda-oom",
        "gpu-memory-held",
        "device-side-assert",
        "embedding-index",
        "illegal-memory-access",
        "cuda-library-conflict",
    ],
    fixes=[
        Fix(
            "Let CUDA report each error where it happens, and read the first one",
            "export CUDA_LAUNCH_BLOCKING=1  # then start the training as before",
        ),
        Fix(
            "See whether the memory is free before the run, and who holds it",
            "nvidia-smi --query-compute-apps=gpu_uuid,pid,process_name,used_memory --format=csv",
        ),
        Fix(
            "Leave cuDNN room: a smaller batch, and no search for the fastest algorithm, which takes large workspaces",
            "torch.backends.cudnn.benchmark = False",
            Kind.EDIT,
        ),
        Fix(
            "Keep PyTorch from taking the whole GPU: the libraries need room of their own",
            "torch.cuda.set_per_process_memory_fraction(0.92)",
            Kind.EDIT,
            proof="torch.cuda.set_per_process_memory_fraction(0.92)",
        ),
        Fix("For NOT_SUPPORTED: make the input contiguous", "y = conv(x.contiguous())", Kind.EDIT),
        Fix(
            "Go on without cuDNN: convolutions and RNNs become slower",
            "torch.backends.cudnn.enabled = False",
            Kind.MITIGATION,
        ),
    ],
)
