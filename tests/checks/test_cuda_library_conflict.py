"""cuda-library-conflict: seen in logs."""

MESSAGE = "two versions of CUDA or of one of its libraries meet"
EXAMPLES = {
    "RuntimeError: cuDNN version incompatibility: PyTorch was compiled  against (9, 10, 2) but found runtime version (9, 1, 0). PyTorch already comes bundled with cuDNN.": (
        MESSAGE + ": (9, 1, 0) was found where (9, 10, 2) was expected"
    ),
    "RuntimeError: cuDNN version incompatibility: PyTorch was compiled against 7605 but linked against 7401": (
        MESSAGE + ": 7401 was found where 7605 was expected"
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
        MESSAGE + ": 11.8 was found where 12.4 was expected"
    ),
    "The detected CUDA version (11.8) mismatches the version that was used to compile": MESSAGE,
    "DeepSpeed Op Builder: Installed CUDA version 12.2 does not match the version torch was compiled with 11.7, unable to compile cuda/cpp extensions": (
        MESSAGE + ": 12.2 was found where 11.7 was expected"
    ),
    "Exception: Installed CUDA version 12.1 does not match the version torch was compiled with 11.8": (
        MESSAGE + ": 12.1 was found where 11.8 was expected"
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
