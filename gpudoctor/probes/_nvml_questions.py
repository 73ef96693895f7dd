"""Calls of NVML, many at once: each may be slow, fail, or never return."""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

# nvmlReturn_t: what a GPU or an old library simply has not, or what this user may not see, is no failure:
# 2 INVALID_ARGUMENT (a link number), 3 NOT_SUPPORTED, 4 NO_PERMISSION, 6 NOT_FOUND, 13 FUNCTION_NOT_FOUND,
# 21 NO_DATA, 22 VGPU_ECC_NOT_SUPPORTED, 24 FREQ_NOT_SUPPORTED, 25 ARGUMENT_VERSION_MISMATCH, 26 DEPRECATED.
NOT_KNOWN = frozenset({2, 3, 4, 6, 13, 21, 22, 24, 25, 26})
CORRUPTED_INFOROM, GPU_IS_LOST, RESET_REQUIRED = 14, 15, 16
SILENT = 1.0
"""Seconds after which a call is told as one that has not returned."""
TICK = 0.25

Call = tuple[str, Callable[[], Any]]
"""An NVML function's name, and what calls it."""


class Key(NamedTuple):
    """What is asked: of which GPU, and what; ``memory/reserved`` is told to readers as ``memory``."""

    gpu: int | None
    what: str

    @property
    def words(self) -> str:
        """The part of the name that is for readers."""
        return self.what.partition("/")[0]


class Silence(NamedTuple):
    """A call that has not returned."""

    key: Key
    function: str

    def __str__(self) -> str:
        """Name the call and the GPU."""
        return self.function if self.key.gpu is None else f"{self.function} of GPU {self.key.gpu}"


class _Question(NamedTuple):
    key: Key
    calls: Sequence[Call]
    then: Callable[[Any], None] | None


class Questions:
    """Asks in threads, for ctypes lets go of the interpreter's lock during a call, and keeps what was answered."""

    def __init__(self, error: type[Exception]) -> None:
        """Begin with nothing asked; `error` is what NVML's Python binding raises, with the code in ``value``."""
        self.answers: dict[Key, Any] = {}
        self.codes: dict[Key, int] = {}
        """How the last call of a question failed, where none of its calls gave an answer."""
        self.errors: dict[int, list[str]] = {}
        self.lost: set[int] = set()
        self.reset_required: set[int] = set()
        self.corrupted: set[int] = set()
        self._error = error
        self._waiting: queue.SimpleQueue[_Question | None] = queue.SimpleQueue()
        self._asking: dict[int, tuple[float, Silence]] = {}
        self._silenced: set[str] = set()
        self._open = 0
        self._threads = 0
        self._lock = threading.Lock()
        self._done = threading.Event()

    def ask(
        self, gpu: int | None, what: str, calls: Sequence[Call], then: Callable[[Any], None] | None = None
    ) -> None:
        """Ask for one thing. Of several calls the first that gives an answer is taken; `then` is given it."""
        with self._lock:
            self._open += 1
            self._done.clear()
        self._waiting.put(_Question(Key(gpu, what), calls, then))

    def get(self, gpu: int | None, what: str) -> Any:
        """Return an answer, or ``None``."""
        return self.answers.get(Key(gpu, what))

    def begin(self, threads: int) -> None:
        """Have at least that many threads; where the system allows fewer, with those that there are."""
        while self._threads < threads:
            try:
                threading.Thread(target=self._work, daemon=True).start()
            except RuntimeError:  # the limit of processes
                break
            self._threads += 1

    def end(self) -> None:
        """Send the threads home."""
        for _ in range(self._threads):
            self._waiting.put(None)

    def settle(self, told: Callable[[list[Silence]], None]) -> None:
        """Wait until all is answered; `told` is given the calls that have not returned, whenever more is known."""
        if not self._threads:
            self._work(once=True)
        before: set[tuple[int, str]] = set()
        answered = 0
        while self._open and not self._done.wait(TICK):
            silent = self.silent()
            for call in silent.values():
                self._silenced.add(call.function)
            now = {(thread, str(call)) for thread, call in silent.items()}
            if now - before:  # others take the place of threads that are stuck
                self.begin(self._threads + len(now - before))
            if now != before or (now and len(self.answers) != answered):
                answered = len(self.answers)
                told(list(silent.values()))
                before = now

    def silent(self) -> dict[int, Silence]:
        """Return the calls that were made a while ago and have not returned, by thread."""
        since = time.monotonic() - SILENT
        return {thread: call for thread, (begun, call) in list(self._asking.items()) if begun <= since}

    def _work(self, once: bool = False) -> None:
        while not (once and self._waiting.empty()):
            question = self._waiting.get()
            if question is None:
                return
            try:
                self._answer(question)
            finally:
                with self._lock:
                    self._open -= 1
                    if not self._open:
                        self._done.set()

    def _answer(self, question: _Question) -> None:
        key = question.key
        for function, call in question.calls:
            # A GPU that is gone is not asked again; nor is a function that hung, which would cost another thread.
            if key.gpu in self.lost or function in self._silenced:
                return
            thread = threading.get_ident()
            self._asking[thread] = (time.monotonic(), Silence(key, function))
            try:
                answer = call()
            except self._error as error:
                answer = None
                self._failed(key, error)
            except (
                Exception
            ):  # an older binding lacks the function or a type, or another library's answer misled it
                answer = None
            finally:
                self._asking.pop(thread, None)
            if answer is not None:
                self.answers[key] = answer
                self.codes.pop(key, None)
                if question.then is not None:
                    question.then(answer)
                return

    def _failed(self, key: Key, error: Exception) -> None:
        code = getattr(error, "value", 0)
        self.codes[key] = code
        if code in NOT_KNOWN:
            return
        text = f"{key.words}: {error}"
        with self._lock:
            if key.gpu is None:  # of the node or of a pair: it tells nothing of one GPU
                return
            known = {
                GPU_IS_LOST: self.lost,
                RESET_REQUIRED: self.reset_required,
                CORRUPTED_INFOROM: self.corrupted,
            }
            first = code not in known or key.gpu not in known[code]
            if code in known:
                known[code].add(key.gpu)
            errors = self.errors.setdefault(key.gpu, [])
            if first and text not in errors:
                errors.append(text)
