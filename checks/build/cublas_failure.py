"""cuBLAS reports an error, and nothing before it explains why.

## What happens

"CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`", or ALLOC_FAILED, EXECUTION_FAILED,
INTERNAL_ERROR, INVALID_VALUE in a matrix product: mostly in the first `nn.Linear`. cuSOLVER, cuSPARSE and cuFFT say the
like. In torch until 1.4: "cublas runtime error : resource allocation failed".

## Why

Almost always the consequence of something else. Most often first:

- An index out of range just before it: a token that the embedding does not have (`resize_token_embeddings` was
  forgotten), a label outside of the classes. CUDA reports late, and cuBLAS is the next to ask.
- The GPU's memory is full, so that cuBLAS gets no handle (`cublasCreate`) and no workspace.
- INVALID_VALUE or NOT_SUPPORTED right at the start: LD_LIBRARY_PATH brings in another cuBLAS than the wheel's.
- A wheel for an older CUDA than this GPU needs; tensors on another GPU than the current one.

## How to tell

Run once with `CUDA_LAUNCH_BLOCKING=1` and read the first error, or run one batch on the CPU: there an index out of
range is named. `nvidia-smi` shows how much memory is free before the run.

## See also

- [cuBLAS status values](https://docs.nvidia.com/cuda/cublas/#cublasstatus-t): what each means, and what to look at
- [pytorch#174320](https://github.com/pytorch/pytorch/pull/174320): the system's cuBLASLt under pip's cuBLAS
"""

from gpudoctor import Check, Fix, Kind, Severity

STATUS = r"(?P<status>(CUBLAS|CUSOLVER|CUSPARSE|CURAND|HIPBLAS|HIPSOLVER|HIPSPARSE|HIPRAND)_STATUS_(?!SUCCESS|ARCH_MISMATCH)[A-Z]\w{3,60})"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        rf"(CUDA|cuBLAS|cublas|CUBLAS|cusolver|cuSOLVER|cusparse|curand|API)\w* [Ee]rror:? .{{0,80}}?{STATUS}",
        rf"(RuntimeError|Exception|InternalError|AcceleratorError): {STATUS}",
        rf"{STATUS},? when calling .?(?P<call>\w+)",
        rf"[Ff]ailed to create cublas handle: {STATUS}",
        rf"cuBLAS failed with status {STATUS}",  # CTranslate2
        rf"failed to run cuBLAS routine: {STATUS}",  # TensorFlow
        rf"CUBLAS failure \d+: {STATUS}",
        rf"\b{STATUS}\b",  # Kaldi, Caffe and others
        r"(?P<status>cuFFT error: CUFFT_(?!SUCCESS)[A-Z]\w+)",
        # until 1.4
        r"cublas runtime error : (?P<status>[\w ]{4,80}?) at ",
        r"Expected \w* ?== CUBLAS_STATUS_SUCCESS to be true",
        r"cuBLAS Error: (?P<status>\w[\w ,]{4,80})",
        r"cu(BLAS|blas)(Lt)? (API failed with status|[Ee]rror) (?P<status>\d+)",
        r"cublasLt ran into an error",  # bitsandbytes
        r"cusolver error: (?P<status>\d+), when calling",
        r"Blas x?GEMM\w* launch failed",
    ],
    message="[the library answered <status>: ]a matrix product or the like failed, mostly after an index out "
    "of range, or because memory ran out",
    follows=[
        "cuda-oom",
        "gpu-memory-held",
        "device-side-assert",
        "embedding-index",
        "illegal-memory-access",
    ],
    fixes=[
        Fix(
            "Let CUDA report each error where it happens, and read the first one",
            "export CUDA_LAUNCH_BLOCKING=1  # then start the training as before",
        ),
        Fix(
            "Check the indices that go to embeddings and losses",
            "assert 0 <= input_ids.min() and input_ids.max() < model.get_input_embeddings().num_embeddings\n"
            "assert 0 <= labels.min() and labels.max() < num_classes  # without those that are ignored, such as -100",
            Kind.EDIT,
        ),
        Fix(
            "After adding tokens, make the embedding as large as the tokenizer",
            "model.resize_token_embeddings(len(tokenizer))",
            Kind.EDIT,
        ),
        Fix(
            "See whether the memory is free before the run, and who holds it",
            "nvidia-smi --query-compute-apps=gpu_uuid,pid,process_name,used_memory --format=csv",
        ),
        Fix(
            "Keep PyTorch from taking the whole GPU: the libraries need room of their own",
            "torch.cuda.set_per_process_memory_fraction(0.92)",
            Kind.EDIT,
            proof="torch.cuda.set_per_process_memory_fraction(0.92)",
        ),
        Fix(
            "Use the cuBLAS of the wheel alone", "unset LD_LIBRARY_PATH  # then start the training as before"
        ),
    ],
)
