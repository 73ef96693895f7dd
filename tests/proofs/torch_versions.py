"""Run the reproductions that need only torch and gloo under other versions of torch, and record what they showed.

For maintainers, and no part of CI: each version is downloaded (a CUDA build takes 2 to 3 GB), lives in a virtual
environment of its own while its reproductions run, and is gone afterwards, with uv's copy of it:

    python tests/proofs/torch_versions.py 2.0.1 2.2.2 2.4.1 2.6.0 2.9.1 2.13.0

What each showed is written to ``checks/proofs/versions.json``, from which the pages quote it; what was recorded of
other versions stays. Where a symptom did not match, its check does not know that version's wording: what the script
said is printed.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))

from gpudoctor.collect import collect
from gpudoctor.interpreter import Patient
from gpudoctor.proofs import NEEDS
from gpudoctor.registry import Registry
from gpudoctor.report import ProofStatus
from gpudoctor.reproduction import reproduce
from gpudoctor.scripts import read_script
from tests.warm_python import warm_python

RECORD = ROOT / "checks/proofs/versions.json"
ENOUGH = {"torch", "Linux"}
"""What a reproduction may need, to be run here."""
INSTALL = 1800
"""Seconds in which a version must be there."""
RUN = 3600
"""Seconds in which all reproductions must have run."""


def main(versions: list[str]) -> None:
    """Install each version, run the reproductions under it, and write the record."""
    for version in versions:
        with tempfile.TemporaryDirectory(prefix="gpudoctor-torch-") as folder:
            python = installed(version, Path(folder))
            command = [sys.executable, __file__, "--patient", str(python)]
            said = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=RUN).stdout
        add(json.loads(said.splitlines()[-1]))


def installed(version: str, folder: Path) -> Path:
    """Make a virtual environment with a version of torch; return its interpreter."""
    environment = {**os.environ, "UV_CACHE_DIR": str(folder / "cache")}
    python = folder / "venv/bin/python"
    wheels = [f"--find-links={place}" for place in os.environ.get("PIP_FIND_LINKS", "").split()]
    # torch before 2.3 was built for NumPy 1, and says so at each import beside a newer one.
    packages = [f"torch=={version}", "numpy<2"]
    for command in (
        ["uv", "venv", "-q", "--python", sys.executable, str(folder / "venv")],
        ["uv", "pip", "install", "-q", "--compile-bytecode", "--python", str(python), *wheels, *packages],
    ):
        subprocess.run(command, check=True, timeout=INSTALL, env=environment)
    shutil.rmtree(folder / "cache", ignore_errors=True)
    return python


def run(python: str) -> dict[str, object]:
    """Run under an interpreter all reproductions that need only torch; return what each showed."""
    registry = Registry()
    plain = Patient(python, "the version asked for")
    facts = collect([p for p in registry.probes if p.name in NEEDS], plain)
    patient = Patient(warm_python(python), plain.chosen)
    os.environ["PYTHON_EXEC"] = patient.executable  # torchrun starts its ranks with it
    shown = {}
    for id in registry.modules:
        folder = registry.reproduction(id)
        if folder is None:
            continue
        needs = {need for half in ("broken.py", "fixed.py") for need in read_script(folder / half, patient).needs}
        if "torch" not in needs or not needs <= ENOUGH:
            continue
        proof = reproduce(registry.check(id), folder, patient, facts)
        if proof.fixed is ProofStatus.NOT_RUN:
            continue
        shown[id] = {"broken": proof.broken.value, "fixed": proof.fixed.value}
        if not proof.held:
            print(f"{id}: {proof.reason}\n{proof.error}\n", file=sys.stderr, flush=True)
    return {"torch": facts.facts["torch"].version, "shown": shown}


def add(ran: dict[str, dict[str, dict[str, str]]]) -> None:
    """Add to the record what one version showed."""
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    for id, halves in ran["shown"].items():
        record.setdefault(id, {})[ran["torch"]] = halves
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.write_text(json.dumps(dict(sorted(record.items())), indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--patient"]:
        print(json.dumps(run(sys.argv[2])))
    else:
        main(sys.argv[1:])
