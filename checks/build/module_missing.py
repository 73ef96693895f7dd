"""A Python module that the training imports is not there.

## What happens

"ModuleNotFoundError: No module named 'einops'", or a library asks for another one: "This modeling file requires the
following packages that were not found in your environment: einops. Run `pip install einops`". Every rank says the same,
and torchrun's summary follows.

## Why

- The package is optional, or a script's requirements were never installed.
- It is installed in another environment than the one that runs: `pip` and `python` belong to different ones, or the job
  starts without the environment of your shell. On several nodes, one may have another image.
- The package has another name than the module: `cv2` is `opencv-python`, `PIL` is `pillow`, `sklearn` is `scikit-learn`.
- It is a folder of your own project: the script was started from another folder, or as a file inside the package
  instead of with `python -m`.

## How to tell

`python -c "import sys; print(sys.executable, sys.path)"` in the job itself, and `python -m pip show PACKAGE` with that
Python. Where only one node's ranks say so, compare the environments of the nodes.

## See also

- [Installing packages](https://packaging.python.org/en/latest/tutorials/installing-packages/): `python -m pip`, environments
- [The module search path](https://docs.python.org/3/tutorial/modules.html#the-module-search-path): where `import` looks
"""

import sys
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Severity, Sighting, Symptom

# Modules whose package has another name (their pages on PyPI).
PACKAGES = {
    "cv2": "opencv-python-headless",
    "PIL": "pillow",
    "sklearn": "scikit-learn",
    "skimage": "scikit-image",
    "yaml": "pyyaml",
    "dateutil": "python-dateutil",
    "pytorch_lightning": "pytorch-lightning",
    "google.protobuf": "protobuf",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "dotenv": "python-dotenv",
    "hydra": "hydra-core",
    "faiss": "faiss-cpu",
    "umap": "umap-learn",
    "Levenshtein": "levenshtein",
    "pkg_resources": "'setuptools<81'",
    "distutils": "setuptools",
    "MinkowskiEngine": "MinkowskiEngine",
}
# What people call the folders of their own projects.
OWN = {
    "src",
    "utils",
    "util",
    "models",
    "model",
    "data",
    "dataset",
    "lib",
    "config",
    "configs",
    "core",
    "tools",
}
OWN |= {
    "train",
    "modules",
    "networks",
    "nets",
    "layers",
    "losses",
    "options",
    "engine",
    "common",
    "helpers",
    "scripts",
}
# Other checks' modules: torch itself, NumPy's inside, flash-attn.
# Modules that apex has where it was built with its extensions; apex on PyPI is another package.
APEX = {
    "amp_C",
    "apex_C",
    "syncbn",
    "mlp_cuda",
    "fused_dense_cuda",
    "fused_layer_norm_cuda",
    "scaled_masked_softmax_cuda",
    "scaled_upper_triang_masked_softmax_cuda",
}
BUILD_APEX = Fix(
    "Build apex from its source with --cpp_ext and --cuda_ext, for the torch and the CUDA toolkit that are here: its README "
    "has the command",
    source="https://github.com/NVIDIA/apex",
)
KNOWN = r"(?!encodings\b|torch['\".\s]|torch$|numpy\._core|flash_attn)"
# Below torch.load it is a class that the file names: pickled-class-moved.
UNPICKLING = (
    r"(?:torch[/\\]serialization\.py\"?, line \d+, in (?:find_class|_?load|_legacy_load)\b|unpickler\.load\(\)|find_class\(mod_name)"
    r"(?:[^\n]*\n){1,6}?[^\n]{0,80}(?:ModuleNotFound|Import)Error: No module named"
)
# FlashAttention has a page of its own, and so has torch.
ELSE = r"(?!.{0,200}(?:not found in your environment: |toggled on))(?!.{0,120}\b[Ff]lash[ _-]?[Aa]tt)"
OPTIONS = r"(?:-U |--upgrade |--user )?['\"]?"
WANTED = (
    r"(?:not (?:been )?installed|not available|not found|\b[Rr]equires?|[Pp]lease (?:\w+ ){0,2}install|"
    r"need(?:s|ed)? to (?:be )?install)"
)
# a name, and none of what is no package of Python's
LIBRARY = (
    r"[`'\"]?(?P<library>(?!(?:[Pp]y)?[Tt]orch\b|this\b|it\b|and\b|the\b|[Ff]lash|CUDA\b|nvcc\b|[Nn]inja\b|NCCL\b|MPI\b|ffmpeg\b|git\b|gcc\b|g\+\+)"
    r"[A-Za-z][\w.-]{1,40})[`'\"]?"
)
# what others ask for by its release
RELEASED = (
    r"(?:accelerate|transformers|peft|deepspeed|bitsandbytes|datasets|huggingface[_-]hub|safetensors|torchdata|torchao|"
    r"DeepSpeed|tokenizers|liger-kernel|trl|kernels)"
)
WHICH_PYTHON = Fix("See which Python the job runs", 'python -c "import sys; print(sys.executable, sys.path)"')
STANDARD = sys.stdlib_module_names | {"asynchat", "asyncore", "cgi", "imp", "pipes", "smtpd", "telnetlib"}
"""What no package brings: Python's own modules, those too that newer releases have dropped (docs.python.org, whatsnew)."""
WHOLE_PYTHON = Fix(
    "Take a Python that has it, such as uv's or conda's: one that was compiled here lacks what it found no headers for",
    "uv venv --managed-python .venv && uv pip install torch",
)
OWN_FOLDER = Fix(
    "A folder of your own project: install the project once, or start in its folder",
    "python -m pip install --editable . || export PYTHONPATH=$PWD",
    proof="export PYTHONPATH=$PWD",
)

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        Symptom(
            rf"(?:ModuleNotFoundError|ImportError): No module named (?P<quote>['\"]?){KNOWN}(?P<module>[A-Za-z_][\w.]{{0,80}})(?P=quote)\s*$",
            unless=UNPICKLING,
        ),
        # retold without its type
        rf"^(?:# )?No module named (?P<quote>['\"]){KNOWN}(?P<module>[A-Za-z_][\w.]{{0,80}})(?P=quote)\s*$",
        # one of several that a library needs, below its own ImportError
        rf"^{KNOWN}(?P<module>[A-Za-z_]\w{{0,80}}): No module named '(?P=module)'\s*$",
        # python -m, torchrun -m
        rf"Error while finding module specification for '(?P<run>[A-Za-z_][\w.]{{0,120}})' \(ModuleNotFoundError: No module named '{KNOWN}",
        rf"\bpython[\d.]*: No module named {KNOWN}(?P<run>[A-Za-z_][\w.]{{0,120}})\s*$",
        r"packages that were not found in your environment: (?!flash_attn)(?P<packages>[\w.,\[\] -]{2,120}?)\. Run",
        r"(?:ImportError|ModuleNotFoundError): (?!.{0,200}not found in your environment: )(?!.{0,200}toggled on).{0,240}(?:[`'\"]|\b[Rr]un )pip install (?:-U |--upgrade )?(?!torch\b|flash)(?P<package>[A-Za-z][\w.\[\]-]{1,60})",
        r"requires the (?!PyTorch\b)(?P<library>\w[\w. -]{1,40}) library but it was not found in your environment",
        r"ImportError: Please install (?P<package>apex) from\b",
        # whatever stands between what is asked for and the command
        rf"(?:ImportError|ModuleNotFoundError): {ELSE}.{{0,240}}\bpip3? install {OPTIONS}(?!torch\b|flash|git\+|ninja\b)(?P<package>[A-Za-z][\w.\[\]-]{{1,60}})",
        rf"\b(?:Value|Runtime|Assertion)Error: (?=.{{0,240}}{WANTED}){ELSE}.{{0,240}}\bpip3? install {OPTIONS}(?!torch\b|flash|git\+|ninja\b)(?P<package>[A-Za-z][\w.\[\]-]{{1,60}})",
        rf"(?:ImportError|ModuleNotFoundError): {ELSE}.{{0,200}}\brequires? (?:the |either )?{LIBRARY}(?: client)?(?: library| package| module)? (?:package|to be installed)\b",
        rf"(?:ImportError|ModuleNotFoundError): {ELSE}(?:.{{0,160}} )?{LIBRARY}(?: package| library)? (?:is not|isn't) (?:installed|available\. Please install)",
        rf"(?:ImportError|ModuleNotFoundError): {ELSE}[Pp]lease install (?:the )?(?!with\b){LIBRARY}(?: package| library)?(?: to\b|\.?$)",
        r"\b(?:Runtime|Value|Assertion)Error: (?P<library>DeepSpeed|[Aa]pex|PEFT|vLLM|fairscale|bitsandbytes|accelerate|xFormers|Transformer Engine|TorchAO) is not (?:installed|available)\b",
        rf"\b(?:Import|Runtime|Value)Error: .{{0,160}}\b[Rr]equires? [`'\"]?(?P<newer>{RELEASED} ?>=? ?\d+(?:\.\d+){{1,3}})",
        rf"^(?:Error|ERROR): No module named (?P<quote>['\"])(?!torch['\"]){KNOWN}(?P<module>[A-Za-z_][\w.]{{0,80}})(?P=quote)\s*$",
    ],
    follows=["torch-missing", "flash-attn-missing", "extension-build"],
    fixes=[
        Fix("Install it with the Python that trains", "python -m pip install PACKAGE"),
        WHICH_PYTHON,
        OWN_FOLDER,
    ],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Name the module, and the package that brings it."""
    groups = sighting.groups
    run = groups.get("run", "")
    module = groups.get("module", run)
    if newer := groups.get("newer", "").replace(" ", ""):
        yield check.found(
            f"a library asks for {newer}, which is not installed", fixes=_installed(f"'{newer}'")
        )
        return
    wanted = groups.get("packages") or groups.get("package") or groups.get("library") or ""
    if not module:
        # The name of a library need not be that of its package.
        fixes = None if "library" in groups else _installed(wanted.replace(",", " "))
        yield check.found(f"a library asks for {wanted}, which is not installed", fixes=fixes)
        return
    top = module.partition(".")[0]
    if module in APEX:
        yield check.found(
            f"{message_of(module)}: apex was installed without its CUDA extensions", fixes=[BUILD_APEX]
        )
        return
    if top in STANDARD and top not in PACKAGES:
        why = "of Python's own library; this Python was built without it, or is one that has it no more"
        yield check.found(f"{message_of(module)}, {why}", fixes=[WHOLE_PYTHON, WHICH_PYTHON])
        return
    package = PACKAGES.get(module) or PACKAGES.get(top) or top.replace("_", "-")
    message = message_of(module)
    if "." in run:
        yield check.found(f"{message}, which was to be run with -m", fixes=[OWN_FOLDER, WHICH_PYTHON])
    elif top in OWN:
        message += ", by its name a folder of the project itself"
        yield check.found(message, fixes=[OWN_FOLDER, WHICH_PYTHON])
    else:
        yield check.found(message, fixes=_installed(package))


def message_of(module: str) -> str:
    """Say which module is not there."""
    return f"the Python that ran has no module {module}"


def _installed(packages: str) -> list[Fix]:
    install = Fix("Install it with the Python that trains", f"python -m pip install {packages}")
    return [install, WHICH_PYTHON, OWN_FOLDER]
