"""What conda says that it installs, and the specifications that people quote -> packages with their builds."""

import re
from collections.abc import Iterable

from gpudoctor.facts.distributions import CONDA_NAMES, Distribution

_NAMES = r"(?P<name>pytorch(?:-cuda|-mutex)?|torchvision|torchaudio|cudatoolkit|cpuonly)"
_VERSION = r"(?P<version>\d[\w.]{0,20})"
_BUILD = r"(?P<build>[A-Za-z0-9][\w.]{2,60})"
_FORMS = (
    re.compile(rf"{_NAMES}-{_VERSION}\s+\|\s+{_BUILD}(?:\s|$)"),  # a plan's list of downloads
    re.compile(rf"\S{{1,80}}\s+\S{{1,80}}::{_NAMES}-{_VERSION}-{_BUILD}$"),  # and of new packages
    re.compile(rf"\+ {_NAMES}\s+{_VERSION}\s+{_BUILD}\s+\S"),  # mamba's
)
_SPECIFICATION = re.compile(rf"(?<![\w/-]){_NAMES}={_VERSION}={_BUILD}")
_ASKED = re.compile(
    r"\b(?:conda|mamba|micromamba) install\b.{0,300}?\s(?P<name>cudatoolkit|pytorch-cuda)(?:==?| )"
    r"(?P<version>\d[\d.]{0,8})"
)
_CUDA = re.compile(r"cuda(?:(?P<dotted>\d{1,2}\.\d{1,2})|_?(?P<plain>\d{3}))|(?P<cpu>(?:^|_)cpu(?:_|$))")
_MOST = 200


def read(lines: Iterable[str]) -> tuple[list[Distribution], str | None]:
    """Return the packages, and for which CUDA the torch among them was built: ``11.1``, ``cpu``, ``None``: not told.

    ``pytorch-1.12.1   |  py3.8_cpu_0   133.8 MB  pytorch``, ``pytorch=1.9.0=py3.8_cpu_0``,
    ``pytorch   pytorch/linux-64::pytorch-2.0.1-py3.10_cuda11.8_cudnn8.7.0_0``

    Of several builds of torch nobody knows which one is meant: then there is none.
    """
    found: dict[str, Distribution] = {}
    torches: set[tuple[str, str]] = set()
    for line in lines:
        if len(found) >= _MOST or ("torch" not in line and "cud" not in line and "cpuonly" not in line):
            continue
        whole = next((match for form in _FORMS if (match := form.match(line[:300]))), None)
        for match in [whole] if whole else _SPECIFICATION.finditer(line[:1000]):
            name = CONDA_NAMES.get(match["name"], match["name"])
            found.setdefault(name, Distribution(name=name, version=match["version"]))
            if name == "torch":
                torches.add((match["version"], match["build"]))
        if "install" in line and (asked := _ASKED.search(line[:1000])):
            found.setdefault(asked["name"], Distribution(name=asked["name"], version=asked["version"]))
    if len(torches) != 1:
        return [], None
    [(_, build)] = torches
    return list(found.values()), _built_for(build)


def _built_for(build: str) -> str | None:
    match = _CUDA.search(build)
    if match is None or match["cpu"]:
        return "cpu" if match is not None else None
    return match["dotted"] or f"{match['plain'][:-1]}.{match['plain'][-1]}"
