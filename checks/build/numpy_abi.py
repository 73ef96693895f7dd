"""A module was compiled for NumPy 1 and NumPy 2 is installed.

## What happens

"A module that was compiled using NumPy 1.x cannot be run in NumPy 2.0.1 as it may crash", then "Failed to initialize
NumPy: _ARRAY_API not found". torch itself goes on, and every `tensor.numpy()` and `torch.from_numpy` raises "Numpy is
not available". Older: "numpy.dtype size changed, may indicate binary incompatibility".

## Why

torch before 2.3 was compiled against NumPy 1, and NumPy 2 changed the binary interface. pip takes the newest NumPy when
nothing forbids it, so an old torch that is installed today gets it. The reverse happens with conda and pip in one
environment.

## How to tell

`python -c "import numpy, torch; print(numpy.__version__, torch.__version__); torch.zeros(1).numpy()"`. The traceback in
the warning names the module that was compiled for NumPy 1: it need not be torch.

## See also

- [NumPy 2.0 migration](https://numpy.org/doc/stable/numpy_2_0_migration_guide.html)
- [torch 2.3](https://github.com/pytorch/pytorch/releases/tag/v2.3.0): the first release with NumPy 2
"""

from gpudoctor import Check, Fix, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"compiled using NumPy 1\.x cannot be run in",
        r"Failed to initialize NumPy: (?:_ARRAY_API not found|module compiled against)",
        r"RuntimeError: Numpy is not available",
        r"numpy\.(?:dtype|ufunc|ndarray) size changed, may indicate binary incompatibility",
        r"module compiled against (?:API|ABI) version 0x\w+ but this version of numpy is",
        r"AttributeError: _ARRAY_API not found",
        r"numpy\.core\.multiarray failed to import",
    ],
    message="an extension module in this environment and its NumPy were not made for each other",
    fixes=[
        Fix("Take a NumPy that the installed torch was compiled for", 'pip install "numpy<2"'),
        Fix("Or a torch that knows NumPy 2", 'pip install --upgrade "torch>=2.3" torchvision'),
    ],
)
