"""cublas-failure: seen in logs."""

MESSAGE = "a matrix product or the like failed, mostly after an index out of range, or because memory ran out"
EXAMPLES = {
    "F0301 10:00:00.100000 71 math.cu:12] Check failed: status == 0 (14 vs. 0)  CUBLAS_STATUS_INTERNAL_ERROR": (
        "the library answered CUBLAS_STATUS_INTERNAL_ERROR: a matrix product or the like failed, mostly after an index out "
        "of range, or because memory ran out"
    ),
    "RuntimeError: CUDA error: HIPBLAS_STATUS_INTERNAL_ERROR when calling `hipblasCreate(handle)`": "the library answered HIPBLAS_STATUS_INTERNAL_ERROR: "
    + MESSAGE,
    "E tensorflow/stream_executor/cuda/cuda_blas.cc:428] failed to run cuBLAS routine: CUBLAS_STATUS_EXECUTION_FAILED": "the library answered CUBLAS_STATUS_EXECUTION_FAILED: a matrix product or the like failed, mostly after an index out of range, or because memory ran out",
    "RuntimeError: cuBLAS failed with status CUBLAS_STATUS_NOT_SUPPORTED": "the library answered CUBLAS_STATUS_NOT_SUPPORTED: a matrix product or the like failed, mostly after an index out of range, or because memory ran out",
    "CUBLAS failure 13: CUBLAS_STATUS_EXECUTION_FAILED ; GPU=1 ; expr=cublas_gemm(cuHandle)": "the library answered CUBLAS_STATUS_EXECUTION_FAILED: a matrix product or the like failed, mostly after an index out of range, or because memory ran out",
    "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`": (
        "the library answered CUBLAS_STATUS_NOT_INITIALIZED: a matrix product or the like failed, mostly after "
        "an index out of range, or because memory ran out"
    ),
    "[rank3]: RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm( handle, opa, opb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc)`": (
        "the library answered CUBLAS_STATUS_EXECUTION_FAILED: a matrix product or the like failed, mostly "
        "after an index out of range, or because memory ran out"
    ),
    "RuntimeError: CUDA error: CUBLAS_STATUS_INVALID_VALUE when calling cublasLtMatmul with transpose_mat1 1 transpose_mat2 0 m 4096 n 8 k 4096": (
        "the library answered CUBLAS_STATUS_INVALID_VALUE: a matrix product or the like failed, mostly after "
        "an index out of range, or because memory ran out"
    ),
    "RuntimeError: cusolver error: CUSOLVER_STATUS_INTERNAL_ERROR, when calling `cusolverDnCreate(handle)`": (
        "the library answered CUSOLVER_STATUS_INTERNAL_ERROR: a matrix product or the like failed, mostly "
        "after an index out of range, or because memory ran out"
    ),
    "RuntimeError: CUBLAS_STATUS_ALLOC_FAILED": (
        "the library answered CUBLAS_STATUS_ALLOC_FAILED: a matrix product or the like failed, mostly after an "
        "index out of range, or because memory ran out"
    ),
    "E tensorflow/stream_executor/cuda/cuda_blas.cc:226] failed to create cublas handle: CUBLAS_STATUS_NOT_INITIALIZED": (
        "the library answered CUBLAS_STATUS_NOT_INITIALIZED: a matrix product or the like failed, mostly after "
        "an index out of range, or because memory ran out"
    ),
    "RuntimeError: cuFFT error: CUFFT_INTERNAL_ERROR": (
        "the library answered cuFFT error: CUFFT_INTERNAL_ERROR: a matrix product or the like failed, mostly "
        "after an index out of range, or because memory ran out"
    ),
    "RuntimeError: cublas runtime error : the GPU program failed to execute at /pytorch/aten/src/THC/THCBlas.cu:259": (
        "the library answered the GPU program failed to execute: a matrix product or the like failed, mostly "
        "after an index out of range, or because memory ran out"
    ),
    "RuntimeError: Expected __err == CUBLAS_STATUS_SUCCESS to be true, but got false.": MESSAGE,
    "RuntimeError: /build/transformer_engine/common/gemm/cublaslt_gemm.cu:331 in function cublas_gemm: cuBLAS Error: the function failed to launch on the GPU": (
        "the library answered the function failed to launch on the GPU: a matrix product or the like failed, "
        "mostly after an index out of range, or because memory ran out"
    ),
    "cuBLAS API failed with status 15": (
        "the library answered 15: a matrix product or the like failed, mostly after an index out of range, or "
        "because memory ran out"
    ),
    "Exception: cublasLt ran into an error!": MESSAGE,
    "RuntimeError: cusolver error: 7, when calling `cusolverDnCreate(handle)`": (
        "the library answered 7: a matrix product or the like failed, mostly after an index out of range, or "
        "because memory ran out"
    ),
    "tensorflow.python.framework.errors_impl.InternalError: Blas GEMM launch failed : a.shape=(64, 784), b.shape=(784, 10)": MESSAGE,
}
NOT_THIS = [
    "UserWarning: Attempting to run cuBLAS, but there was no current CUDA context! Attempting to set the primary context...",
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x128 and 256x10)",
    "OSError: /env/nvidia/cublas/lib/libcublas.so.11: undefined symbol: cublasLtGetStatusString, version libcublasLt.so.11",
    "RuntimeError: CUDA error: CUBLAS_STATUS_ARCH_MISMATCH when calling `cublasGemmEx( handle )`",
    "RuntimeError: Deterministic behavior was enabled but this operation is not deterministic because it uses CuBLAS and you have CUDA >= 10.2.",
    "CUBLAS_WORKSPACE_CONFIG=:4096:8 python train.py",
]
