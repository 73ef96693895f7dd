"""Write the records of reproductions that ship with gpudoctor, of what was run here.

    gpudoctor repro all --json --no-redact | python tests/proofs/record.py

``checks/proofs/ID.json`` is the proof as the report has it, without what is this machine's alone: how long it took, and
where its files lie. What did not run here, or did not hold, keeps the record that it has. Of a reproduction that no fix
names as its ``proof`` it is said what they have in common: whether that is the fix is for a person to say.
"""

import os
import re
import socket
import sys
from collections.abc import Iterable
from difflib import SequenceMatcher
from pathlib import Path

import msgspec
from msgspec.structs import replace

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))

from gpudoctor.model import Fix
from gpudoctor.registry import Registry
from gpudoctor.report import Proof, Report

RECORDS = ROOT / "checks/proofs"
FOLDERS = re.compile(r"/[^\s\"':]*/((?:site|dist)-packages|python3\.\d+)/")
OWN_FOLDER = re.compile(r"/[^\s\"':]*gpudoctor-\w+")
"""Where gpudoctor put the scripts."""
SHORTEST = 8
"""Characters in common that are worth a look."""
LINES = 12
"""Lines of output that a record keeps."""


def main() -> None:
    """Read a report, and write a record for each proof of a reproduction that held."""
    report = msgspec.json.decode(sys.stdin.buffer.read(), type=Report)
    refuse_redacted(report)
    held = [proof for proof in report.proofs if proof.held and proof.broken is not None]
    RECORDS.mkdir(exist_ok=True)
    for proof in held:
        said = {name: value for name, value in msgspec.to_builtins(told_elsewhere(proof)).items() if value}
        text = msgspec.json.format(msgspec.json.encode(said), indent=1)
        (RECORDS / f"{proof.id}.json").write_bytes(text + b"\n")
    print(f"{len(held)} of {len(report.proofs)} proofs recorded")
    registry = Registry()
    for proof in held:
        fixes = registry.check(proof.id).fixes if proof.id in registry.modules else ()
        if fixes and not any(fix.proof for fix in fixes):
            print(f"{proof.id}: no fix has proof=; {in_common(proof.difference or '', fixes)}")


def refuse_redacted(report: Report) -> None:
    """Refuse a report in which paths have other names: they would stand in the records, and lead nowhere."""
    patient = report.facts.get("python", {}).get("executable", "/")
    if not os.path.isabs(patient):
        sys.exit(
            f"this report is redacted (its Python is {patient}): run gpudoctor repro all --json --no-redact"
        )


def in_common(difference: str, fixes: Iterable[Fix]) -> str:
    """Return the longest part of a fix's command that stands in what a difference adds."""
    added = "\n".join(row[1:].strip() for row in difference.splitlines()[2:] if row.startswith("+"))
    found = []
    for fix in fixes:
        match = SequenceMatcher(None, fix.command, added, autojunk=False).find_longest_match()
        found.append((match.size, fix.command[match.a : match.a + match.size].strip(), fix.summary))
    size, part, summary = max(found)
    return f"{part!r} of {summary!r}" if size >= SHORTEST else "none has anything of it"


def told_elsewhere(proof: Proof) -> Proof:
    """Return a proof without what is this machine's alone."""
    error = "\n".join((proof.error or "").splitlines()[-LINES:])
    return replace(proof, seconds=0.0, error=plain(error), symptom=plain(proof.symptom or ""), notes=[])


def plain(text: str) -> str:
    """Return a text without this machine's name and folders."""
    text = OWN_FOLDER.sub("/tmp/run", FOLDERS.sub(r"\1/", text))
    return text.replace(f"{sys.prefix}/bin/", "").replace(socket.gethostname(), "node1")


if __name__ == "__main__":
    main()
