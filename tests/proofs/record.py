"""Write the records of reproductions that ship with gpudoctor, of what was run here.

    gpudoctor repro all --json | python tests/proofs/record.py

``checks/proofs/ID.json`` is the proof as the report has it, without what is this machine's alone: how long it took, and
where its files lie. What did not run here, or did not hold, keeps the record that it has.
"""

import re
import socket
import sys
from pathlib import Path

import msgspec
from msgspec.structs import replace

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))

from gpudoctor.report import Proof, Report

RECORDS = ROOT / "checks/proofs"
FOLDERS = re.compile(r"/[^\s\"':]*/((?:site|dist)-packages|python3\.\d+)/")
OWN_FOLDER = re.compile(r"/[^\s\"':]*gpudoctor-\w+")
"""Where gpudoctor put the scripts."""
LINES = 12
"""Lines of output that a record keeps."""


def main() -> None:
    """Read a report, and write a record for each proof of a reproduction that held."""
    report = msgspec.json.decode(sys.stdin.buffer.read(), type=Report)
    held = [proof for proof in report.proofs if proof.held and proof.broken is not None]
    RECORDS.mkdir(exist_ok=True)
    for proof in held:
        said = {name: value for name, value in msgspec.to_builtins(told_elsewhere(proof)).items() if value}
        text = msgspec.json.format(msgspec.json.encode(said), indent=1)
        (RECORDS / f"{proof.id}.json").write_bytes(text + b"\n")
    print(f"{len(held)} of {len(report.proofs)} proofs recorded")


def told_elsewhere(proof: Proof) -> Proof:
    """Return a proof without what is this machine's alone."""
    error = "\n".join((proof.error or "").splitlines()[-LINES:])
    return replace(proof, seconds=0.0, error=plain(error), symptom=plain(proof.symptom or ""), notes=[])


def plain(text: str) -> str:
    """Return a text without this machine's name and folders."""
    text = OWN_FOLDER.sub("/tmp/run", FOLDERS.sub(r"\1/", text))
    return text.replace(socket.gethostname(), "node1")


if __name__ == "__main__":
    main()
