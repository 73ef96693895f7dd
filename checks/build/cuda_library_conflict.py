"""Two versions of CUDA, cuDNN or another of its libraries meet.

## What happens

torch was built for one version of a CUDA library and finds another at run time: "cuDNN version incompatibility: PyTorch
was compiled against (9, 10, 2) but found runtime version (9, 1, 0)", "Could not load library libcudnn_cnn_train.so.8",
CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH. An extension that is compiled here says "The detected CUDA version (11.8)
mismatches the version that was used to compile PyTorch". (If `import torch` itself fails: `torch-import-broken`.)

## Why

- LD_LIBRARY_PATH, `module load cuda` or a conda environment puts another copy before the one of the wheels.
- Another package brought its own: tensorflow, onnxruntime-gpu, ctranslate2, paddle or cupy; whoever is imported first
  decides which copy is loaded.
- Wheels of two CUDA versions (`nvidia-…-cu12` beside `-cu13`) write into the same folders.
- For extensions: `nvcc` and CUDA_HOME are of another version than `torch.version.cuda`.

## How to tell

`LD_DEBUG=libs python -c "import torch" 2>&1 | grep -E "calling init.*(cudnn|cublas|nccl|nvJitLink)"` names the files
that are loaded: all should be beside torch in site-packages. `pip list | grep -i nvidia` shows doubles.

## See also

- [ld.so](https://man7.org/linux/man-pages/man8/ld.so.8.html): LD_LIBRARY_PATH, LD_DEBUG and what is searched first
- [cuDNN's support matrix](https://docs.nvidia.com/deeplearning/cudnn/backend/latest/reference/support-matrix.html): which cuDNN goes with which CUDA and driver
"""

from gpudoctor import Check, Fix, Kind, Severity, Symptom

VERSION = r"\([\d, ]{3,20}\)|\d{3,6}"
DETECTED = (
    r"detected CUDA version \((?P<found>[\d.]+)\) mismatches the version that was used to compile( PyTorch)?"
)

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        # two blanks after "compiled" in some releases; "linked against" until 1.11
        rf"cuDNN version incompatibility: PyTorch was compiled {{1,3}}against (?P<built>{VERSION}) but (found runtime version|linked against) (?P<found>{VERSION})",
        r"LD_LIBRARY_PATH contains incompatible version of cudnn",
        r"Could not load library (?P<library>(lib)?cudnn[\w.-]+?)\. Error",
        r"Please make sure (?P<library>(lib)?cudnn[\w.-]+) is in your library path",
        r"Could not locate (?P<library>cudnn\w+\.dll)",
        r"Unable to load any of \{(?P<library>(lib)?cudnn[\w.-]+)",
        r"Could not load symbol (?P<symbol>cudnn\w+)\. Error",
        r"Invalid handle\. Cannot load symbol (?P<symbol>cudnn\w+)",
        r"CUDNN_STATUS_(SUBLIBRARY_VERSION_MISMATCH|SUBLIBRARY_LOADING_FAILED|VERSION_MISMATCH)",
        r"Loaded runtime CuDNN library: (?P<found>[\d.]+) but source was compiled with: (?P<built>\d+(\.\d+)*)",
        r"version .(?P<library>lib(cudart|cublas|cublasLt|cudnn|nvJitLink)\.so\.[\d.]+). not found",
        Symptom(DETECTED, near=r"PyTorch \((?P<built>\d[\d.]*)\)\. Please make sure"),
        DETECTED,
        r"Installed CUDA version (?P<found>[\d.]+) does not match the version torch was compiled with (?P<built>\d+\.\d+)",
    ],
    message="two versions of CUDA or of one of its libraries meet[: <found> was found where <built> was expected]"
    "[, at <library>][, at <symbol>]",
    fixes=[
        Fix(
            "Run without the paths that put another copy first",
            "unset LD_LIBRARY_PATH LD_PRELOAD  # then start the training as before",
        ),
        Fix(
            "Start from a clean environment, so that one CUDA version alone is there",
            "python -m venv .venv-clean && .venv-clean/bin/python -m pip install torch torchvision",
        ),
        Fix(
            "Import torch before tensorflow, cupy, paddle and onnxruntime",
            "import torch  # first: its libraries are then the ones in the process\nimport cupy",
            Kind.EDIT,
        ),
        Fix(
            "To compile an extension: name the CUDA that torch.version.cuda says, here 12.8",
            "export CUDA_HOME=/usr/local/cuda-12.8 PATH=/usr/local/cuda-12.8/bin:$PATH",
        ),
        Fix(
            "DeepSpeed: skip its comparison of versions; its kernels may then fail to compile or to run",
            "export DS_SKIP_CUDA_CHECK=1",
            Kind.MITIGATION,
        ),
    ],
    no_reproduction="needs a GPU, and two versions of CUDA's libraries",
)
