"""Ask NVML for the GPUs. A driver that hangs hangs here: this runs in a process of its own, with a deadline.

What was learnt before a call that does not return is told while it is waited for, with the name of that call.
"""

import time
from itertools import combinations
from pathlib import Path
from typing import Any

from gpudoctor.facts import Gpus
from gpudoctor.probes._gpu_answers import Answers, pair, text
from gpudoctor.probes._gpu_processes import Owners
from gpudoctor.probes._lines import tell
from gpudoctor.probes._nvml_calls import Calls
from gpudoctor.probes._nvml_questions import Questions, Silence

deadline = 12.0
THREADS, THREADS_MOST, SLOW = 8, 64, 0.005
"""Threads; and how many where a call takes that many seconds: on a busy node it takes 20 ms, and a GPU with 18 NVLinks
is asked 150 times. Elsewhere they would only use up a container's processes."""
GPUS_MOST = 64
# NVML_CC_SYSTEM_MULTIGPU_*
MULTI_GPU = ("none", "protected_pcie", "nvle")


def probe(root: Path = Path("/")) -> Gpus:
    """Read all GPUs; a library that cannot be initialised is a fact, in NVML's own words."""
    import pynvml

    node = _Node(pynvml, root)
    node.read()
    node.questions.end()
    if node.told:
        tell({"doing": "done"})
    return node.facts()


class _Node:
    """What is learnt of the GPUs of this node, at each moment."""

    def __init__(self, nvml: Any, root: Path) -> None:
        self.nvml = nvml
        self.questions = Questions(nvml.NVMLError)
        self.calls = Calls(nvml, self.questions)
        self.owners = Owners(root)
        self.count = 0
        self.error: Exception | None = None
        self.hanging: list[Silence] = []
        self.told = False

    def read(self) -> None:
        """Ask in four steps, of which each needs the one before; the facts so far are told before the last two."""
        self.questions.begin(1)
        if not self._done("NVML", "nvmlInit"):
            return
        self.calls.system()
        if not self._done("devices", "nvmlDeviceGetCount"):
            return
        self.count = min(self.questions.get(None, "devices") or 0, GPUS_MOST)
        self.questions.begin(min(self.count, THREADS))
        begun = time.monotonic()
        for index in range(self.count):
            self.calls.gpu(index)
        self._settle()
        # Each of the threads made four calls for each of its GPUs.
        each = (time.monotonic() - begun) / 4 / max(self.count / THREADS, 1)
        self.questions.begin(min(THREADS * self.count, THREADS_MOST if each > SLOW else THREADS))
        if self.count:
            tell({"topic": "gpus", "facts": self.facts()})  # whatever else of the library kills this process
        self.calls.confidential()
        for index in self.calls.handles:
            self.calls.rest(index)
        for first, second in combinations(sorted(self.calls.handles), 2):
            self.calls.pair(first, second)
        self._settle()  # and no nvmlShutdown, which could hang or fail too: this process ends

    def _done(self, what: str, function: str) -> bool:
        """Call a function that the rest needs, and return whether it succeeded."""

        def call() -> Any:
            try:
                return getattr(self.nvml, function)() or 0
            except self.nvml.NVMLError as error:
                self.error = error
                raise

        self.questions.ask(None, what, [(function, call)])
        self._settle()
        return self.error is None

    def _settle(self) -> None:
        self.questions.settle(self._waiting)
        self.hanging = []

    def _waiting(self, calls: list[Silence]) -> None:
        """Tell what is waited for, and what is known without it."""
        self.hanging = calls
        self.told = True
        tell({"topic": "gpus", "facts": self.facts()})
        tell({"doing": str(calls[0]) if calls else "NVML"})

    def facts(self) -> Gpus:
        """Make the facts of what is known now."""
        get = self.questions.get
        error, code = (str(self.error), getattr(self.error, "value", None)) if self.error else (None, None)
        stuck = [call for call in self.hanging if call.key.gpu is None]
        if error is None and stuck and not self.count:
            error = f"{stuck[0]} does not return"
        devices = {
            index: Answers(self.questions, index).gpu(self.owners.all(get(index, "processes")))
            for index in range(self.count)
        }
        version = get(None, "CUDA version")
        return Gpus(
            error=error,
            error_code=code,
            driver_version=text(get(None, "driver version")) or None,
            cuda_version=f"{version // 1000}.{version % 1000 // 10}" if version else None,
            devices=list(devices.values()),
            pairs=[
                pair(self.questions, devices, *two) for two in combinations(sorted(self.calls.handles), 2)
            ],
            hanging=[str(call) for call in self.hanging],
            **self._confidential(),
        )

    def _confidential(self) -> dict[str, Any]:
        settings = self.questions.get(None, "confidential computing")
        if settings is None:
            return {}
        on = bool(settings.ccFeature)
        ready = self.questions.get(None, "confidential ready")
        mode: int = getattr(settings, "multiGpuMode", len(MULTI_GPU))
        return {
            "confidential": on,
            "confidential_multi_gpu": MULTI_GPU[mode] if on and mode < len(MULTI_GPU) else None,
            "confidential_ready": None if ready is None else bool(ready),
        }
