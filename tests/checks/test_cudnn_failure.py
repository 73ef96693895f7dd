"""cudnn-failure: seen in logs."""

EXAMPLES = [
    "RuntimeError: cuDNN error: CUDNN_STATUS_INTERNAL_ERROR",
    "[rank2]: RuntimeError: cuDNN error: CUDNN_STATUS_NOT_SUPPORTED. This error may appear if you passed in a non-contiguous input.",
    "RuntimeError: CuDNN error: CUDNN_STATUS_EXECUTION_FAILED",
    "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED_CUDART",
    "RuntimeError: CUDNN_STATUS_MAPPING_ERROR",
    "RuntimeError: CuDNN error: CUDNN_STATUS_SUCCESS",
    "torch.backends.cudnn.CuDNNError: 8: b'CUDNN_STATUS_EXECUTION_FAILED'",
    "RuntimeError: CUDNN_BACKEND_OPERATION: cudnnFinalize Failed cudnn_status: CUDNN_STATUS_BAD_PARAM",
    "E tensorflow/stream_executor/cuda/cuda_dnn.cc:329] Could not create cudnn handle: CUDNN_STATUS_NOT_INITIALIZED",
    "RuntimeError: cuDNN Frontend error: [cudnn_frontend] Error: No execution plans support the graph.",
    "RuntimeError: GET was unable to find an engine to execute this computation",
    "RuntimeError: FIND was unable to find an engine to execute this computation",
    "RuntimeError: Unable to find a valid cuDNN algorithm to run convolution",
    "RuntimeError: no valid convolution algorithms available in CuDNN",
    "UnknownError: Failed to get convolution algorithm. This is probably because cuDNN failed to initialize, so try looking",
    "You can try to repro this exception using the following code snippet. If that doesn't trigger the error, please include your original repro script when reporting this issue.",
]
NOT_THIS = [
    "UserWarning: Plan failed with a cudnnException: CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: cudnnFinalize Descriptor Failed cudnn_status: CUDNN_STATUS_NOT_SUPPORTED (Triggered internally at ../aten/src/ATen/native/cudnn/Conv_v8.cpp:919.)",
    "UserWarning: Applied workaround for CuDNN issue, install nvrtc.so (Triggered internally at Conv_v8.cpp:80.)",
    "RuntimeError: cuDNN error: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH",
    "RuntimeError: cuDNN error: CUDNN_STATUS_ARCH_MISMATCH",
    "RuntimeError: cudnn RNN backward can only be called in training mode",
    "cuDNN version : 8902",
]
SAYS = {
    EXAMPLES[
        0
    ]: "cuDNN answered CUDNN_STATUS_INTERNAL_ERROR; cuDNN could not do its part: mostly for want of memory, "
    "or after an error that CUDA had not reported yet",
    EXAMPLES[
        11
    ]: "cuDNN could not do its part: mostly for want of memory, or after an error that CUDA had not reported yet",
}
