"""Run a training mode under the patient, live, and keep the proof."""

import tempfile
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gpudoctor.bad_input import BadInput
from gpudoctor.child import Child, run
from gpudoctor.interpreter import Patient
from gpudoctor.patient_process import Garbled, Message, answer, surroundings
from gpudoctor.report import Proof, ProofStatus
from gpudoctor.reproduction import LINES_KEPT, last_words
from gpudoctor.training_script import training_script

DEADLINE = 300.0
"""Seconds. A mode takes 5 to 10 s on two processor cores, and with all of MNIST a minute more."""
STANDALONE = ["--standalone"]
NAMELESS = ["--rdzv_backend=c10d", "--rdzv_endpoint=127.0.0.1:0", "--local_addr=127.0.0.1"]
"""Where the own host name does not resolve: there ``--standalone`` waits in vain (seen with torch 2.13 and 2.15)."""
METRICS = {
    "first_loss": "first loss",
    "last_loss": "last loss",
    "accuracy": "accuracy",
    "images_per_second": "images per second",
    "train_seconds": "seconds of training",
    "largest_relative_difference": "largest relative gradient difference",
    "parameters_equal": "parameters equal on all ranks",
}


class UnusableData(BadInput):
    """The files of ``--data`` cannot be used; the text is one clear line."""


@dataclass
class Training:
    """A training run: what it told, and what else it printed."""

    mode: str
    on_event: Callable[[Message], None]
    result: Message | None = None
    refusal: str | None = None
    """What is wrong with the data that was handed in."""
    notes: list[str] = field(default_factory=list)
    output: deque[str] = field(default_factory=lambda: deque(maxlen=LINES_KEPT))

    def hear(self, line: bytes) -> None:
        """Take a line: an event, or anything else that torch and the ranks print."""
        try:
            event = answer(line, Message)
        except Garbled:
            event = None
        if event is None or "event" not in event:
            self.output.append(line.decode(errors="replace"))
            return
        if event["event"] == "result":
            self.result = event
        elif event["event"] == "error":
            self.refusal = str(event.get("text"))
        elif event["event"] == "note":
            self.notes.append(str(event.get("text")))
        elif event["event"] == "data" and str(event.get("source", "")).startswith("read directly"):
            self.notes.append(f"the digits were {event['source']}")
        self.on_event(event)


def train(
    mode: str,
    patient: Patient,
    *,
    nproc: int = 2,
    nameless: bool = False,
    options: list[str] | None = None,
    deadline: float = DEADLINE,
    on_event: Callable[[Message], None] = lambda event: None,
) -> Proof:
    """Train the digits in one mode and return the proof.

    `nproc` is the number of ranks of ``ddp``; `nameless`: the own host name does not resolve; `options` go to the
    script. The script that runs is the very text that ``repro MODE --script`` prints. Raises `UnusableData`.
    """
    training = Training(mode, on_event)
    if nameless and mode == "ddp":
        training.notes.append(f"the own host name does not resolve: torchrun was given {' '.join(NAMELESS)}")
    with tempfile.TemporaryDirectory(prefix="gpudoctor-") as folder:
        script = Path(folder, f"{mode}.py")
        script.write_text(training_script(mode), encoding="utf-8")
        # Underscores: torchrun of torch 1.13 knows no other spelling.
        launch = [*patient.torchrun, *(NAMELESS if nameless else STANDALONE), f"--nproc_per_node={nproc}"]
        command = [*(launch if mode == "ddp" else [patient.executable]), str(script), *(options or [])]
        # torchrun leaves folders of its own behind, and a rank that is killed its digits: they go with this one.
        environment = surroundings(folder, launch=True)
        child = Child(mode, command, deadline, training.hear, environment, merge_errors=True)
        run([child])
    if training.refusal is not None:
        raise UnusableData(training.refusal)
    output = "\n".join(training.output)
    return _proof(training, child, output)


def _proof(training: Training, child: Child, output: str) -> Proof:
    result = training.result or {}
    if child.timed_out:
        status, reason = ProofStatus.TIMEOUT, child.end
    elif result.get("passed") is True and child.end is None:
        status, reason = ProofStatus.PASSED, None
    else:
        failures = [str(failure) for failure in result.get("failures", [])]
        reason = "; ".join(failures) or child.end or "it ended without a result"
        status = ProofStatus.FAILED
    return Proof(
        id=training.mode,
        fixed=status,
        seconds=child.seconds,
        reason=reason,
        error=None if status is ProofStatus.PASSED else last_words(output),
        label=result.get("label"),
        notes=training.notes,
        metrics={words: result[name] for name, words in METRICS.items() if result.get(name) is not None},
    )
