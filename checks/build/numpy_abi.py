"""A module was compiled for NumPy 1 and NumPy 2 is installed.

## What happens

"A module that was compiled using NumPy 1.x cannot be run in NumPy 2.0.1 as it may crash", then "Failed to initialize
NumPy: _ARRAY_API not found". torch itself goes on, and every `tensor.numpy()` and `torch.from_numpy` raises "Numpy is
not available". The reverse, compiled for a newer NumPy than is there: "numpy.dtype size changed, may indicate binary
incompatibility", "module compiled against API version 0x10 but this version of numpy is 0xe". A file pickled under
NumPy 2 does not load under NumPy 1: "No module named 'numpy._core'".

## Why

torch before 2.3 was compiled against NumPy 1, and NumPy 2 changed the binary interface. pip takes the newest NumPy when
nothing forbids it, so an old torch that is installed today gets it, and so do old builds of pandas, OpenCV, numba and
scikit-learn. The reverse happens where one package holds NumPy back and another was built later, and with conda and
pip in one environment.

## How to tell

`python -c "import numpy, torch; print(numpy.__version__, torch.__version__); torch.zeros(1).numpy()"`. The traceback in
the warning names the module that was compiled for NumPy 1: it need not be torch.

## See also

- [NumPy 2.0 migration](https://numpy.org/doc/stable/numpy_2_0_migration_guide.html): what changed for compiled modules
- [Troubleshooting an import](https://numpy.org/doc/stable/user/troubleshooting-importerror.html): what to check when NumPy's C part fails
- [pytorch#107302](https://github.com/pytorch/pytorch/issues/107302): NumPy 2 support, and why wheels from torch 2.3 on are built against it
"""

from collections.abc import Iterator

from packaging.version import Version

from gpudoctor import CannotTell, Check, Evidence, Finding, Fix, Severity, Symptom
from gpudoctor.facts import Distributions, Python, Torch, parsed_version

FIRST = Version("2.3")
"""The first torch that was compiled against NumPy 2 (release notes of 2.3.0; on Windows it was 2.4.1)."""

REASONS = r"(?:_?core\.(?:multiarray|umath)|_ARRAY_API|module (?:was )?compiled against|initialization of)"

check = Check(
    severity=Severity.ERROR,
    follows=["torch-shadowed"],
    symptoms=[
        # the version stands in the next line
        Symptom(
            r"compiled using NumPy 1\.x cannot be run in", near=r"NumPy (?P<numpy>\d[\w.]*) as it may crash"
        ),
        r"compiled using NumPy 1\.x cannot be run in",
        r"downgrade to 'numpy<2' or try to upgrade the affected module",
        rf"Failed to initialize NumPy: (?:numpy\.)?{REASONS}",
        # without NumPy torch says so too
        Symptom(r"\bNumpy is not available", unless=r"No module named 'numpy'"),
        r"expected np\.ndarray \(got numpy\.ndarray\)",
        # as a RuntimeWarning it is harmless
        r"ValueError: numpy\.\w{1,30} size changed, may indicate binary incompatibility",
        r"module compiled against (?:API|ABI) version 0x\w+ but this version of numpy is",
        r"compiled against NumPy C-API version 0x\w+ \(NumPy (?P<built>[\d.]+)\) but the running NumPy has C-API version",
        r"AttributeError: _ARRAY_API not found",
        r"numpy\._?core\.(?:multiarray|umath|_multiarray_umath) failed to import",
        r"No module named 'numpy\._core(?:\.\w+){0,2}'",
        r"Numba needs NumPy (?P<built>\d[\d.]*) or (?:less|greater|newer)\. Got NumPy (?P<numpy>\d+(?:\.\d+)*)",
        r"Numba needs NumPy (?P<built>\d[\d.]*) or (?:less|greater|newer)(?!\. Got)",
        r"Importing the (?:numpy|multiarray|umath) C-extensions failed",
        r"SystemError: initialization of _internal failed without raising an exception",  # numba
    ],
    message="an extension module in this environment was compiled for another NumPy[, <built>,] than the installed one"
    "[, <numpy>]",
    fixes=[
        Fix("Take a NumPy that the installed torch was compiled for", 'python -m pip install "numpy<2"'),
        Fix("Or a torch that knows NumPy 2", 'python -m pip install --upgrade "torch>=2.3" torchvision'),
        Fix(
            "Or a new build of the module that the traceback names, such as pandas",
            "python -m pip install --upgrade --force-reinstall numpy pandas",
        ),
    ],
    no_reproduction="needs a torch that was built with another NumPy",
)


@check.environment
def environment(
    torch: Torch, distributions: Distributions | None, python: Python | None
) -> Iterator[Finding]:
    """The torch is older than its NumPy, or says that it could not start it."""
    said = [w for w in torch.warnings if "Failed to initialize NumPy" in w and "No module named" not in w]
    numpy = distributions.get("numpy") if distributions else None
    if not said and (numpy is None or torch.version is None):
        if distributions is not None and numpy is None:
            return  # torch does without
        raise CannotTell("the version of torch or of NumPy is not known")
    built, there = parsed_version(torch.version), parsed_version(numpy.version if numpy else None)
    old = built is not None and there is not None and there.major >= 2 and built < FIRST
    if not said and (not old or (built is not None and built.is_prerelease)):
        return
    patient = python or Python()
    newer = patient.install_command("--upgrade torch torchvision", distributions)
    yield check.found(
        f"torch {torch.version or 'of unknown version'} was compiled for NumPy 1, and NumPy {there or '2'} is installed: "
        'tensor.numpy() and torch.from_numpy raise "Numpy is not available"',
        evidence=[Evidence(text) for text in said[:1]],
        fixes=[
            Fix(
                "Take a NumPy that the installed torch was compiled for",
                patient.install_command("'numpy<2'", distributions),
            ),
            Fix("Or a torch that knows NumPy 2", newer),
        ],
    )
