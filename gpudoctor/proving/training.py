"""Run a training mode under the patient, live, and keep the proof."""

import os
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gpudoctor.bad_input import BadInput
from gpudoctor.child import Child, run
from gpudoctor.interpreter import Patient
from gpudoctor.patient_process import Conversation, Message, by_torchrun, surroundings, typed
from gpudoctor.proving.patience import Patience
from gpudoctor.proving.reproduction import LINES_KEPT, last_words
from gpudoctor.proving.stacks import ANSWER, LOOK, MOST, Stacks
from gpudoctor.proving.training_script import DEFAULT, LAUNCHED, Choice, training_script
from gpudoctor.report import Proof, ProofStatus

DEADLINE = 300.0
"""Seconds. A mode takes 5 to 10 s on two processor cores, and with all of MNIST a minute more."""
TAKING_STACKS = LOOK + ANSWER * MOST
"""Seconds beyond a deadline that it may take to learn where all ranks stand."""
STANDALONE = ["--standalone"]
NAMELESS = ["--rdzv_backend=c10d", "--rdzv_endpoint=127.0.0.1:0", "--local_addr=127.0.0.1"]
"""Where the own host name does not resolve: there ``--standalone`` waits in vain (seen with torch 2.13 and 2.15)."""
METRICS = {
    "first_loss": "first loss",
    "last_loss": "last loss",
    "accuracy": "accuracy",
    "accuracy_on_one_device": "accuracy after the same batches on one device",
    "images_per_second": "images per second",
    "train_seconds": "seconds of training",
    "largest_relative_difference": "largest relative gradient difference",
    "parameter_difference": "largest relative parameter difference after a step",
    "parameters_equal": "parameters equal on all ranks",
}


class UnusableData(BadInput):
    """The options cannot be meant, or ``--data-dir`` holds no such files; the text is one clear line."""


@dataclass
class Training:
    """A training run: what it told, and what else it printed."""

    mode: str
    on_event: Callable[[Message], None]
    result: Message | None = None
    refusal: str | None = None
    """What is wrong with the data or the options that were handed in."""
    notes: list[str] = field(default_factory=list)
    output: deque[str] = field(default_factory=lambda: deque(maxlen=LINES_KEPT))
    wrong: list[str] = field(default_factory=list)
    """What differs from one device."""
    patience: Patience = field(default_factory=lambda: Patience(DEADLINE, meets=False))
    late: str | None = None
    """What did not come in time."""
    stacks: Stacks | None = None
    """Where the ranks stood then."""

    def watch(self, child: Child, script: Path) -> None:
        """Look whether a training that runs is late; if so, take the stacks of its ranks, then have it ended."""
        if self.stacks is None:
            self.late = self.patience.late(child.running)
            if self.late is not None and child.process is not None:
                self.stacks = Stacks(child.process.pid, str(script))
        elif self.stacks.look():
            child.deadline = 0.0

    def hear(self, event: Message, seconds: float = 0.0) -> None:
        """Take an event, told `seconds` after the start."""
        self.patience.hear(str(event["event"]), seconds)
        if event["event"] == "result":
            self.result = event
        elif event["event"] == "error":
            self.refusal = str(event.get("text"))
        elif event["event"] == "wrong":
            self.wrong.append(str(event.get("text")))
        elif event["event"] == "note":
            self.notes.append(str(event.get("text")))
        elif event["event"] == "data" and str(event.get("source", "")).startswith("read directly"):
            self.notes.append(f"the images were {event['source']}")
        self.on_event(event)

    def print(self, line: bytes) -> None:
        """Keep a line of anything else that torch and the ranks print."""
        text = line.decode(errors="replace")
        self.output.append(text)
        if self.stacks is not None:
            self.stacks.hear(text)


def train(
    mode: str,
    patient: Patient,
    *,
    nproc: int | None = None,
    nameless: bool = False,
    choice: Choice = DEFAULT,
    options: Sequence[str] = (),
    deadline: float = DEADLINE,
    on_event: Callable[[Message], None] = lambda event: None,
) -> Proof:
    """Train in one mode and return the proof.

    `nproc` is the number of ranks, or of devices of a mode of one process; `nameless`: the own host name does not
    resolve; `options` go to the script beside those of `choice`. The script that runs is the very text that
    ``repro MODE --script`` prints. Raises `UnusableData`.
    """
    training = Training(mode, on_event, patience=Patience(deadline, mode in LAUNCHED))
    if nameless and mode in LAUNCHED and not by_srun():
        training.notes.append(f"the own host name does not resolve: torchrun was given {' '.join(NAMELESS)}")
    with tempfile.TemporaryDirectory(prefix="gpudoctor-") as folder:
        script = Path(folder, f"{mode}.py")
        script.write_text(training_script(mode), encoding="utf-8")
        command = [*_launch(mode, patient, script, nproc, nameless), *choice.arguments, *options]
        # torchrun leaves folders of its own behind, and a rank that is killed its images: they go with this one.
        # Python's fault handler tells where a rank stands that has not come as far as its own.
        environment = {**surroundings(folder, launch=True), "PYTHONFAULTHANDLER": "1"}
        child = Child(mode, command, deadline + TAKING_STACKS, environment=environment, merge_errors=True)
        Conversation(child, lambda event: training.hear(event, child.running), aside=training.print)
        run([child], on_tick=lambda running: training.watch(child, script))
    if training.refusal is not None:
        raise UnusableData(training.refusal)
    output = "\n".join(training.output)
    return _proof(training, child, output)


def by_srun() -> bool:
    """Return whether srun started this process as one of several tasks, each of which is a rank then.

    Inside sbatch and salloc alone there is no SLURM_STEP_ID; an interactive step has one task.
    """
    inside = "SLURM_STEP_ID" in os.environ and "SLURM_PROCID" in os.environ
    return inside and os.environ.get("SLURM_NTASKS") != "1"


def is_another_task(mode: str) -> bool:
    """Return whether this is a rank that srun started, and not the first one, which tells the result."""
    return mode in LAUNCHED and by_srun() and os.environ["SLURM_PROCID"] != "0"


def _launch(mode: str, patient: Patient, script: Path, nproc: int | None, nameless: bool) -> list[str]:
    """Return the command that starts a mode's script."""
    if mode not in LAUNCHED:
        return typed(patient, script, *(["--nproc", str(nproc)] if nproc else []))
    if by_srun():
        return typed(patient, script)
    return by_torchrun(patient, nproc or 2, NAMELESS if nameless else STANDALONE, script)


def _proof(training: Training, child: Child, output: str) -> Proof:
    result = training.result or {}
    error = "\n".join(training.wrong) or last_words(output)
    if training.late is not None or child.timed_out:
        status, reason = ProofStatus.TIMEOUT, training.late or child.end
        if training.stacks is not None and training.stacks.stood:
            # The last line says, for who reads it as a log, that nobody got over it.
            error = f"{training.stacks.told()}\n{training.mode} was ended: exit status {child.returncode}"
    elif child.end is None and (result.get("passed") is True or is_another_task(training.mode)):
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
        error=None if status is ProofStatus.PASSED else error,
        label=result.get("label"),
        notes=training.notes,
        metrics={words: result[name] for name, words in METRICS.items() if result.get(name) is not None},
    )
