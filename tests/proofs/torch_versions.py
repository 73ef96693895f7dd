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

from packaging.version import Version

from gpudoctor.collect import collect
from gpudoctor.interpreter import Patient
from gpudoctor.proving.proofs import NEEDS
from gpudoctor.proving.reproduction import reproduce
from gpudoctor.proving.scripts import read_script
from gpudoctor.registry import Registry
from gpudoctor.report import Proof, ProofStatus
from tests.warm_python import warm_python

RECORD = ROOT / "checks/proofs/versions.json"
ENOUGH = {"torch", "Linux"}
"""What a reproduction may need, to be run here."""
INSTALL = 1800
"""Seconds in which a version must be there."""
RUN = 3600
"""Seconds in which all reproductions must have run."""


def main(versions: list[str]) -> None:
    """Install each version, run the reproductions under it, and write the record as they end."""
    for version in versions:
        with tempfile.TemporaryDirectory(prefix="gpudoctor-torch-") as folder:
            python = installed(version, Path(folder))
            command = ["timeout", str(RUN), sys.executable, __file__, "--patient", str(python)]
            with subprocess.Popen(command, stdout=subprocess.PIPE) as running:
                for line in running.stdout:
                    add(**json.loads(line))
            if running.returncode:
                print(f"torch {version}: not all of it was run", file=sys.stderr)


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


def run(python: str) -> None:
    """Run under an interpreter all reproductions that need only torch; print what each showed, a line for each."""
    registry = Registry()
    plain = Patient(python, "the version asked for")
    facts = collect([p for p in registry.probes if p.name in NEEDS], plain)
    patient = Patient(warm_python(python), plain.chosen)
    for id in registry.modules:
        folder = registry.reproduction(id)
        if folder is None or not enough(folder, patient):
            continue
        os.environ["PYTHON_EXEC"] = patient.executable  # torchrun starts its ranks with it
        proof = reproduce(registry.check(id), folder, patient, facts)
        if not proof.held:  # a fork may end otherwise than an interpreter of its own
            del os.environ["PYTHON_EXEC"]
            proof = reproduce(registry.check(id), folder, plain, facts)
        if not proof.held:
            print(f"{id}: {proof.reason}\n{proof.error}\n", file=sys.stderr, flush=True)
        halves = {"broken": proof.broken.value, "fixed": proof.fixed.value}
        if why := reason(proof):
            halves["why"] = why
        print(json.dumps({"torch": facts.facts["torch"].version, "id": id, "halves": halves}), flush=True)


def reason(proof: Proof) -> str:
    """Return why a proof did not hold, and the last thing that was said; empty where it held."""
    if proof.held:
        return ""
    last = (proof.error or "").splitlines()[-1:]
    told = "" if proof.broken is ProofStatus.PASSED else "".join(last)[:200]
    first = (proof.reason or "").splitlines()[0].removesuffix("; its last words:")
    return f"{first}: {told}" if told else first


def enough(folder: Path, patient: Patient) -> bool:
    """Return whether a reproduction needs torch, and nothing that another version of torch would not bring."""
    scripts = [read_script(folder / name, patient) for name in ("broken.py", "fixed.py")]
    needs = {need for script in scripts for need in script.needs}
    return "torch" in needs and needs <= ENOUGH


def add(torch: str, id: str, halves: dict[str, str]) -> None:
    """Add to the record what one reproduction showed under one version."""
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    ran = record.setdefault(id, {}) | {torch: halves}
    record[id] = dict(sorted(ran.items(), key=lambda item: Version(item[0])))
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.write_text(json.dumps(dict(sorted(record.items())), indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--patient"]:
        run(sys.argv[2])
    else:
        main(sys.argv[1:])
