"""cudnn-failure: seen in logs."""

MESSAGE = "cuDNN could not do its part: mostly because memory ran out, or after an error that CUDA had not reported yet"
EXAMPLES = {
    "CuDNNError                 Traceback (most recent call last)": "cuDNN could not do its part: mostly because memory ran out, or after an error that CUDA had not reported yet",
    "RuntimeError: miopenStatusUnknownError": "cuDNN answered miopenStatusUnknownError; " + MESSAGE,
    "CUDNN failure 1: CUDNN_STATUS_NOT_INITIALIZED": "cuDNN answered CUDNN_STATUS_NOT_INITIALIZED; cuDNN could not do its part: mostly because memory ran out, or after an error that CUDA had not reported yet",
    "RuntimeError: cuDNN failed with status CUDNN_STATUS_NOT_INITIALIZED": "cuDNN answered CUDNN_STATUS_NOT_INITIALIZED; cuDNN could not do its part: mostly because memory ran out, or after an error that CUDA had not reported yet",
    "RuntimeError: cuDNN error: CUDNN_STATUS_INTERNAL_ERROR": (
        "cuDNN answered CUDNN_STATUS_INTERNAL_ERROR; cuDNN could not do its part: mostly because memory ran out, "
        "or after an error that CUDA had not reported yet"
    ),
    "[rank2]: RuntimeError: cuDNN error: CUDNN_STATUS_NOT_SUPPORTED. This error may appear if you passed in a non-contiguous input.": (
        "cuDNN answered CUDNN_STATUS_NOT_SUPPORTED; cuDNN could not do its part: mostly because memory ran out, or "
        "after an error that CUDA had not reported yet"
    ),
    "RuntimeError: CuDNN error: CUDNN_STATUS_EXECUTION_FAILED": (
        "cuDNN answered CUDNN_STATUS_EXECUTION_FAILED; cuDNN could not do its part: mostly because memory ran out, "
        "or after an error that CUDA had not reported yet"
    ),
    "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED_CUDART": (
        "cuDNN answered CUDNN_STATUS_EXECUTION_FAILED_CUDART; cuDNN could not do its part: mostly because memory "
        "ran out, or after an error that CUDA had not reported yet"
    ),
    "RuntimeError: CUDNN_STATUS_MAPPING_ERROR": (
        "cuDNN answered CUDNN_STATUS_MAPPING_ERROR; cuDNN could not do its part: mostly because memory ran out, or "
        "after an error that CUDA had not reported yet"
    ),
    "RuntimeError: CuDNN error: CUDNN_STATUS_SUCCESS": (
        "cuDNN answered CUDNN_STATUS_SUCCESS; cuDNN could not do its part: mostly because memory ran out, or after "
        "an error that CUDA had not reported yet"
    ),
    "torch.backends.cudnn.CuDNNError: 8: b'CUDNN_STATUS_EXECUTION_FAILED'": (
        "cuDNN answered CUDNN_STATUS_EXECUTION_FAILED; cuDNN could not do its part: mostly because memory ran out, "
        "or after an error that CUDA had not reported yet"
    ),
    "RuntimeError: CUDNN_BACKEND_OPERATION: cudnnFinalize Failed cudnn_status: CUDNN_STATUS_BAD_PARAM": (
        "cuDNN answered CUDNN_STATUS_BAD_PARAM; cuDNN could not do its part: mostly because memory ran out, or "
        "after an error that CUDA had not reported yet"
    ),
    "E tensorflow/stream_executor/cuda/cuda_dnn.cc:329] Could not create cudnn handle: CUDNN_STATUS_NOT_INITIALIZED": (
        "cuDNN answered CUDNN_STATUS_NOT_INITIALIZED; cuDNN could not do its part: mostly because memory ran out, "
        "or after an error that CUDA had not reported yet"
    ),
    "RuntimeError: cuDNN Frontend error: [cudnn_frontend] Error: No execution plans support the graph.": MESSAGE,
    "RuntimeError: GET was unable to find an engine to execute this computation": MESSAGE,
    "RuntimeError: FIND was unable to find an engine to execute this computation": MESSAGE,
    "RuntimeError: Unable to find a valid cuDNN algorithm to run convolution": MESSAGE,
    "RuntimeError: no valid convolution algorithms available in CuDNN": MESSAGE,
    "UnknownError: Failed to get convolution algorithm. This is probably because cuDNN failed to initialize, so try looking": MESSAGE,
    "You can try to repro this exception using the following code snippet. If that doesn't trigger the error, please include your original repro script when reporting this issue.": MESSAGE,
}
NOT_THIS = [
    "UserWarning: Plan failed with a cudnnException: CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: cudnnFinalize Descriptor Failed cudnn_status: CUDNN_STATUS_NOT_SUPPORTED (Triggered internally at ../aten/src/ATen/native/cudnn/Conv_v8.cpp:919.)",
    "UserWarning: Applied workaround for CuDNN issue, install nvrtc.so (Triggered internally at Conv_v8.cpp:80.)",
    "RuntimeError: cuDNN error: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH",
    "RuntimeError: cuDNN error: CUDNN_STATUS_ARCH_MISMATCH",
    "RuntimeError: cudnn RNN backward can only be called in training mode",
    "cuDNN version : 8902",
]
