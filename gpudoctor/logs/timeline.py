"""The course of a log: in which order its lines were written, what its processes went on from."""

import functools
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence

from gpudoctor.logs.lines import Line
from gpudoctor.logs.tracebacks import Raised

PROGRESS = re.compile(
    r"\b(?:[Ee]poch|EPOCH|[Ss]teps?|STEP|[Ii]ter(?:ation)?s?|[Bb]atch)\b\W{0,12}\d|\b[Ll]oss\b\W{0,4}\d|(?<![\d.])\d{1,6}(?:\.\d{1,4})?\s?(?:it/s|s/it|samples/s)"
)
"""What a training that goes on prints."""
ENOUGH = 3
"""Lines of progress after an error that show that it was survived; one may have been under way."""
NATIVE = re.compile(
    r"\bNCCL WARN\b|NVRM: |\bXid\b|terminate called|what\(\): |\[[EF] |\b[EF]\d{4} |[A-Z]\w+(?:Error|Exception)\b|"
    r"[Ee]rror\b|\bFATAL\b|\bfailed\b|[Aa]ssert|[Ss]ignal|[Ee]xit ?code|Killed|Aborted|fault\b|Warning: |\bWARN"
)
"""Words of libraries and systems that report a failure; a line without any may be a user's own remark."""
RESTARTED = re.compile(
    r"failed \(exitcode: -?\d+\) local_rank: |will restart worker group|Restarting worker group|Worker group FAILED"
)
"""What torchrun says of workers that it may start again; where training goes on after it, it did."""
HANDLED = re.compile(
    r"\b(?:[Ff]alling back|[Ff]all(?:s|en)? ?back to|[Ss]kipp(?:ing|ed)|[Rr]etry(?:ing)?\b(?! (?:limit|count))|"
    r"[Ii]gnoring|[Tt]rying (?:the )?(?:previous|next|older|again|another)|"
    r"[Uu]sing (?:the |a )?(?:CPU|cpu|gloo|previous|default|older|cached?|local|random|fallback)\b|"
    r"[Cc]ontinuing (?:without|with|anyway)|are off\b|PASSED\b)"
)
"""What a program says of a failure that it went on from."""
TRYING = re.compile(rf"{NATIVE.pattern}|[Rr]etry|RETRY|[Aa]ttempt \d|[Ww]aiting for")
"""What a process still says that has not got over a failure: the failure itself, or that it tries again."""
THREAD = re.compile(
    r"^Exception in thread |^Exception (?:occurred|happened) during processing of request|^Unhandled exception in thr"
)
"""What Python prints over the traceback of a thread: the process goes on."""
FINISHED = re.compile(
    r"\b(?:finish(?:ed)?|done|complet(?:e|ed)|saved|written|wrote|passed|succe(?:ss|ssful|ssfully|eded)|ok|best|final|trained|train_runtime)\b",
    re.IGNORECASE,
)
"""What a program prints that comes to a good end."""
RESULT = re.compile(r"\b(?:results?|accuracy|acc|loss|m?AP|mIoU|F1|BLEU|score|metrics?)\b", re.IGNORECASE)
"""What a training that goes well prints at its end, and before."""
STATUS = re.compile(
    r"\b[Ee]xit(?:ed|ing|s)?(?: with)?(?: (?:a )?non-?zero)?(?: exit)?[ _-]?(?:code|status)\b\W{0,4}(?!0\b)-?\d+|"
    r"\breturned non-zero exit status\b|\(core dumped\)|^make(?:\[\d+\])?: \*\*\* |^##\[error\]|"
    r"^(?:srun|slurmstepd|sbatch|salloc|mpirun|docker|kubectl|conda|pip|uv): (?:error|fatal): |"
    r"^(?:docker: )?Error (?:response )?from (?:daemon|server)|^(?:FAILED|Failed)[: ]|(?<![:.\d])[1-9]\d* failed\b|"
    r": (?:command not found|No such file or directory|Permission denied|syntax error.{0,80}|bad interpreter.{0,80})$"
)
"""What says that a command failed, whatever it was."""
BAD = re.compile(
    rf"{NATIVE.pattern}|{STATUS.pattern}|Traceback|^\s*File \"|\bERROR\b|\b(?:nan|NaN|inf)\b|[Cc]ould not|[Cc]annot|"
    r"[Aa]bort|\b(?:not|never|without) (?:finished|done|complete|saved|ok)\b|\b[1-9]\d* (?:failed|errors?)\b|"
    r"\bFAILED\b|\bkilled\b|\b[Ss]topping\b|^(?:error_file|traceback|exitcode) *:|"
    r"\b(?:returned|with(?: status| code)?) -?[1-9]\d*\b|[Tt]imed? ?out"
)
"""What tells, in the last lines, of a failure."""
NOISE = re.compile(
    r"\w*Warning\b|\bwarnings\.warn|^[Ww]arning:|resource_tracker|\batexit\b|Exception ignored|\(ignored|^\[W"
)
"""What stands at the end of many a good run."""
WRAPPER = re.compile(
    r"\b(?:job|script|elapsed|took|wandb|bye|goodbye|upload\w*|cop(?:y|ied|ying)|clean(?:ing|up|ed)?|exited|releas\w*|total|"
    r"wall|runtime|hours|unmount\w*|hook|deactivat\w*|shut(?:ting)?|tidying|ended|container|core|artifacts)\b|"
    r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b|^(?:real|user|sys)\s|^\W*(?:done|finished|end|completed?)?\W*$",
    re.IGNORECASE,
)
"""What a job's script prints at its end, whatever became of the training."""
WORD = re.compile(r"[A-Za-z][A-Za-z'-]*[.,:;!?]?$")
MOST = 7
"""Words of a line from which on it is a sentence: advice below an error, or what a person wrote below a log."""
END = 3
"""Lines at the end that say how it ended."""


class Timeline:
    """What is asked of a log again and again: the time of a line, what its process printed before and after it."""

    def __init__(self, lines: Sequence[Line], raised: Sequence[Raised]) -> None:
        self.times = _times(lines)
        self.progress: dict[tuple[str, str], list[int]] = defaultdict(list)
        for place, line in enumerate(lines):
            if PROGRESS.search(line.text, 0, 400) and not line.text.startswith(("File ", "Traceback")):
                self.progress[line.name, line.who].append(place)
        self.restart = self._restart(lines)
        self.well = self._well(lines)
        self.lines, self.raised = lines, raised
        self.texts: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
        for place, line in enumerate(lines):
            if line.text:
                self.texts[line.name, line.who].append((place, line.text))
        self.ordinary: dict[tuple[str, str], int] = {}
        self.spans: dict[tuple[str, str], list[Raised]] = defaultdict(list)
        for exception in raised:
            self.spans[exception.line.name, exception.line.who].append(exception)

    def order(self, place: int) -> tuple[float, int]:
        """Return the sort key of a line: its time where lines have one, and its place."""
        return (self.times[place] if self.times else 0.0, place)

    def survived(self, line: Line, place: int) -> bool:
        """Return whether the process went on after a line: what was caught and retried did not end it.

        It printed progress, or a launcher started it again and it did, or it says that it does without.
        """
        places = self.progress[line.name, line.who]
        if len(places) - bisect_right(places, place) >= ENOUGH or place <= self.restart or place < self.well:
            return True
        return self._handled(line, place)

    def around(self, line: Line, place: int) -> Raised | None:
        """Return the exception in whose traceback or message a line lies; ``None`` where it lies in none."""
        spans = self.spans[line.name, line.who]
        at = bisect_right(spans, place, key=lambda raised: raised.first) - 1
        return spans[at] if at >= 0 and place <= spans[at].last else None

    def _restart(self, lines: Sequence[Line]) -> int:
        """Return the place of the last line of a launcher after which training began anew; -1 without any."""
        # Plain words first: most of a million lines hold neither, and a pattern is slower to say so.
        told = [
            (p, line.text) for p, line in enumerate(lines) if "orker" in line.text or "local_" in line.text
        ]
        places = [place for place, text in told if RESTARTED.search(text, 0, 400)]
        progress = sorted(place for each in self.progress.values() for place in each)
        went_on = [place for place in places if len(progress) - bisect_right(progress, place) >= ENOUGH]
        return max(went_on, default=-1)

    def _well(self, lines: Sequence[Line]) -> int:
        """Return the place before which all failures were got over, because the log comes to a good end; -1 if not."""
        said = [(place, line.text) for place, line in enumerate(lines) if line.text and not line.bar]
        last = [(place, text) for place, text in said[-2 * END :] if not NOISE.search(text)][-END:]
        after = 1 + max((at for at, (_, text) in enumerate(last) if BAD.search(text, 0, 400)), default=-1)
        end = last[after:]
        results = [
            text for _, text in end if RESULT.search(text, 0, 400) and not WRAPPER.search(text, 0, 400)
        ]
        finished = [text for _, text in end if FINISHED.search(text, 0, 400) and not _sentence(text)]
        own = [text for text in finished if not WRAPPER.search(text, 0, 400)]
        # Right below an error a result may be another rank's, and a bare "done" the job script's; both are enough.
        enough = bool(own) or (bool(results) and (not after or bool(finished)))
        return last[-1][0] if enough else -1

    def goes_on(self, line: Line) -> bool:
        """Return whether the process of a line wrote the last of the log, and that tells of no failure.

        Where the line does not tell its process, any may have been it.
        """
        return self.wrote_last(line) or (not line.who and any(name == line.name for name, _ in self._tail))

    def wrote_last(self, line: Line) -> bool:
        """Return whether ordinary lines below everything that tells of a failure are those of a line's own process."""
        return (line.name, line.who) in self._tail

    def doubt(self, line: Line, place: int) -> str:
        """Say why a failure may not have ended its process; nothing where that is no question."""
        if self.goes_on(line):
            return "The log goes on below it: it may have been got over."
        return "It ended a thread, and not the process." if self.in_thread(line, place) else ""

    def in_thread(self, line: Line, place: int) -> bool:
        """Return whether a line lies in the exception of a thread: that ends the thread, and not the process."""
        raised = self.around(line, place)
        if raised is None:
            return False
        texts = self.texts[line.name, line.who]
        before = bisect_left(texts, raised.first, key=lambda row: row[0])
        return any(THREAD.match(text) for _, text in texts[max(0, before - 2) : before])

    @functools.cached_property
    def _tail(self) -> set[tuple[str, str]]:
        """The processes that wrote ordinary lines below everything that tells of a failure.

        What is indented below the line that names the last exception belongs to it. Of a healthy log nobody asks.
        """
        last = max((one.place for one in self.raised), default=-1)
        found: set[tuple[str, str]] = set()
        for line in reversed(self.lines[last + 1 :]):
            text = line.text[:400]
            if BAD.search(text) and not NOISE.search(text):
                break
            noise = line.bar or line.indent or NOISE.search(text) or WRAPPER.search(text) or _sentence(text)
            if not noise:
                found.add((line.name, line.who))
        return found

    def _handled(self, line: Line, place: int) -> bool:
        """Return whether the process says, right before, in or after what failed, that it goes on, and then does."""
        raised = self.around(line, place)
        first, last = (raised.first, max(place, raised.place)) if raised is not None else (place, place)
        texts = self.texts[line.name, line.who]
        before = bisect_left(texts, first, key=lambda row: row[0])
        after = bisect_right(texts, last, key=lambda row: row[0])
        if self._last_ordinary(line) <= after:
            return False  # nothing comes after it but what failed
        around = [text for _, text in texts[max(0, before - 2) : before] + texts[after : after + 2]]
        thread = raised is not None and any(THREAD.match(text) for text in around)
        return thread or any(HANDLED.search(text) for text in [*around, texts[after - 1][1]])

    def _last_ordinary(self, line: Line) -> int:
        """Return the number, among its process's lines, of the last one that reports no failure; -1 without any."""
        process = (line.name, line.who)
        if process not in self.ordinary:
            rows = self.texts[process]
            told = (at for at in reversed(range(len(rows))) if not TRYING.search(rows[at][1], 0, 400))
            self.ordinary[process] = next(told, -1)
        return self.ordinary[process]


def _sentence(text: str) -> bool:
    """Return whether a line is a sentence, or part of one, and no output."""
    words = text.split()
    return "://" in text or (
        len(words) >= MOST and sum(WORD.match(word) is not None for word in words) > 0.7 * len(words)
    )


def _times(lines: Sequence[Line]) -> list[float]:
    """Return the time of each line, by the last stamp before it in its file; empty where the text's order says more.

    That is so where one process wrote it all, in one file where too few lines are stamped, and where some file has no
    stamp at all. What stands in a file before its first stamp has the time of that one.
    """
    first: dict[str, float] = {}
    stamped: dict[str, list[bool]] = defaultdict(list)
    for line in lines:
        stamped[line.name].append(line.seconds is not None)
        if line.seconds is not None:
            first.setdefault(line.name, line.seconds)
    several = len({(line.name, line.who) for line in lines}) > 1
    dense = all(sum(each) > 0.5 * len(each) for each in stamped.values())
    if not several or len(first) < len(stamped) or not (dense or len(stamped) > 1):
        return []
    last = dict(first)
    times: list[float] = []
    for line in lines:
        if line.seconds is not None:
            last[line.name] = line.seconds
        times.append(last[line.name])
    return times
