"""What is said of workers that failed and were started again, and whether that went well."""

import functools
import itertools
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence

from gpudoctor.logs.aftermath import MANY, Aftermath
from gpudoctor.logs.command_ends import CANCELLED, RESTARTED, STEP_ENDED, TASK_ENDED
from gpudoctor.logs.line_kinds import ENOUGH, PROGRESS, is_result
from gpudoctor.logs.lines import Line
from gpudoctor.logs.raised import Raised
from gpudoctor.logs.recurrence import begins, numbered, shapes
from gpudoctor.patterns import late_pattern

EXITED = "ProcessExitedException"
"""What torch.multiprocessing.spawn raises where a process left without an exception of its own."""
GAVE_IN = ("ChildFailedError", "Root Cause (first observed failure)")
"""What torchrun says where it starts no worker again."""
SHORT = 9
"""Letters of a line that may stand in another one by chance."""
CODE = late_pattern(r"failed \(exitcode: (-?\d+)\) local_rank: ")
CODE_OF_EXCEPTION = late_pattern(r"failed \(exitcode: 1\) local_rank: ")
LAUNCH = late_pattern(r"^\[?[WIE]\d{4} |torch[/.]distributed[/.](?:run|launcher)\b")
"""What torchrun says at the start of a launch, and c10d in it."""
AGENT = late_pattern(r"\btorch[./]distributed[./]elastic[./]")
"""The logger of torchrun's agent, or the file of its source."""
SETTING = late_pattern(
    r"^(?:restart_count|master_(?:addr|port)|(?:group|role|local|global)_(?:rank|world_size)s?|role_world_sizes|global_world_sizes)="
)
"""A row of what the agent says of a group of workers that it starts."""
TORCHRUN = late_pattern(r"(?:^|[\s:>])\[?W\d{4} .{0,60}\btorch/distributed/run\.py:\d+\]")
"""The warnings of torchrun itself, as torch 2.15 writes them."""


class Restarts(Aftermath):
    """What a process printed, and what its launcher says of those that failed."""

    def __init__(self, lines: Sequence[Line], raised: Sequence[Raised]) -> None:
        super().__init__(lines, raised)
        self.progress: dict[tuple[str, str], list[int]] = defaultdict(list)
        for place, line in enumerate(lines):
            if PROGRESS.search(line.text, 0, 400) and not line.text.startswith(("File ", "Traceback")):
                self.progress[line.name, line.who].append(place)
        self.restart, self.reported = self._restart(lines)

    def _restart(self, lines: Sequence[Line]) -> tuple[int, int]:
        """Return the place of the last line of a launcher after which training began anew; -1 without any.

        The second one is that of the last line in which it tells of a worker that failed.
        """
        # Plain words first: most of a million lines hold none, and a pattern is slower to say so.
        told = [(p, x.text) for p, x in enumerate(lines) if "orker" in x.text or "local_" in x.text]
        places = [place for place, text in told if RESTARTED.search(text, 0, 400)]
        self.failures = [place for place in places if CODE.search(lines[place].text, 0, 400)]
        if not places:
            return -1, -1
        again = [p for p, after in itertools.pairwise([*places, len(lines)]) if not self._gave_in(p, after)]
        progress = sorted(place for each in self.progress.values() for place in each)
        went_on = [
            place
            for place in again
            if len(progress) - bisect_right(progress, place) >= ENOUGH or self._launched_again(place)
        ]
        if self._anew(places[-1]):
            went_on.append(places[-1])
        return max(went_on, default=-1), places[-1]

    def _gave_in(self, failed: int, after: int) -> bool:
        """Return whether a launcher says, before it tells of another failure, that it starts no worker again.

        What workers had printed may be passed on below that; what a launcher says below it is of another launch.
        """
        texts = [line.text for line in self.lines[failed + 1 : after]]
        ends = [at for at, text in enumerate(texts) if _gives_in(text)]
        below = self.lines[failed + 1 + ends[-1] : after] if ends else []
        return bool(ends) and not any(LAUNCH.search(line.full) for line in below)

    def _launched_again(self, failed: int) -> bool:
        """Return whether another launch, below the one that gave in, comes to results."""
        places = range(failed + 1, len(self.lines))
        gave_in = (p for p in reversed(places) if _gives_in(self.lines[p].text))
        end = next(gave_in, len(self.lines))
        launch = next((p for p in range(end + 1, len(self.lines)) if LAUNCH.search(self.lines[p].full)), None)
        return launch is not None and self._has_results(launch)

    def _has_results(self, place: int) -> bool:
        """Return whether enough results stand from a place on to show that a program ran."""
        return len(self._results) - bisect_left(self._results, place) >= ENOUGH

    @functools.cached_property
    def _results(self) -> list[int]:
        """The places of the lines that hold a result, and belong to no exception."""
        return sorted(p for each in self.results.values() for p in each if not self.around(self.lines[p], p))

    @functools.cached_property
    def results(self) -> dict[tuple[str, str], list[int]]:
        """The places of the lines in which each process printed a result."""
        return {
            process: [p for p, text in rows if is_result(text[:400]) and self._ordinary(p)]
            for process, rows in self.texts.items()
        }

    def _anew(self, failed: int) -> bool:
        """Return whether workers print again below a launcher's word that one failed, and it never gives in."""
        below = range(failed + 1, len(self.lines))
        if any(_gives_in(self.lines[place].text) for place in below):
            return False
        below = range(failed + 1, self.until(failed))
        above = shapes(line.text for line in self.lines[:failed])
        rows = (p for p in below if self._ordinary(p) and not self._of_launcher(p))
        own = (p for p in rows if not self._of_message(p, failed, above))
        printed = list(itertools.islice(own, ENOUGH))
        # A program's words that come again, and something below them, are enough; ranks may write into one line.
        first = self.lines[printed[0]].text if len(printed) > 1 else ""
        again = any(len(kind) > SHORT and kind in words for kind in above for words in shapes([first]))
        return again or len(printed) == ENOUGH

    def _of_launcher(self, place: int) -> bool:
        """Return whether a line is the launcher's own: its logger's, or a setting of the group that it starts again."""
        line = self.lines[place]
        return AGENT.search(line.full, 0, 200) is not None or SETTING.match(line.text) is not None

    def _of_message(self, place: int, failed: int, above: set[str]) -> bool:
        """Return whether a line below a launcher's word of a failure belongs to an exception.

        To one that began above that word only a line of a kind that no program had printed there can belong.
        """
        raised = self.around(self.lines[place], place)
        if raised is None:
            return False
        return raised.first > failed or above.isdisjoint(shapes([self.lines[place].text]))

    def _anew_below(self, line: Line, place: int) -> bool:
        """Return whether the program began anew below what failed, printed results, and nothing failed any more.

        Where torchrun says below it that a worker failed, what stands below may be what the others had printed.
        """
        raised = self.around(line, place)
        if raised is None or not raised.frames or self.reported > place:
            return False
        anew = self.openings.begun_anew(raised.first, raised.place)
        if anew is None or anew < self._last_failure:
            return False
        return self._has_results(anew)

    def failed_between(self, first: int, last: int) -> bool:
        """Return whether a launcher says between two places that a worker left as after an exception, and starts again.

        What shows below is of the next try, which may have met what the first had left behind.
        """
        between = [place for place in self.failures if first < place < last]
        told = any(CODE_OF_EXCEPTION.search(self.lines[place].text) for place in between)
        return told and not any(_gives_in(line.text) for line in self.lines[between[0] : last])

    def task_ended(self, line: Line, place: int) -> bool:
        """Return whether srun says that a task ended, and what stands below it is of the other tasks of its step.

        They count on from what was printed above, or srun ends them too. A step that is begun anew counts from the
        beginning.
        """
        cancelled = CANCELLED.match(line.text) is not None
        if not cancelled and TASK_ENDED.match(line.text) is None:
            return False
        rows = range(place + 1, len(self.lines))
        step = next((p for p in reversed(rows) if STEP_ENDED.match(self.lines[p].text)), None)
        below = self.lines[(place if step is None else step) + 1 :]
        above = [row for x in self.lines[max(0, place - MANY) : place] for row in numbered(x.text)]
        told = [row for x in below for row in numbered(x.text)]
        if cancelled:
            return not begins(above, told)
        if step is None and {shape for shape, _ in above}.isdisjoint(shape for shape, _ in told):
            return False
        other = step is not None and any(is_result(x.text[:400], beyond_doubt=True) for x in below)
        return not other and not begins(above, told)

    @functools.cached_property
    def gave_in(self) -> bool:
        """Whether torchrun says of a launch that it starts no worker again."""
        return any(_gives_in(line.text) for line in self.lines)

    def left_by_exception(self, place: int) -> bool:
        """Return whether a launcher says, below a place, that a worker left as after an exception: with exit code 1."""
        if self.reported <= place:
            return False
        code = CODE.search(self.lines[self.reported].text)
        return code is None or code[1] == "1"

    def _told_below(self, place: int) -> bool:
        """Return whether a launcher says, below a place, that a process ended by itself: torchrun, or mp.spawn."""
        return self.reported > place or any(r.type == EXITED and r.place > place for r in self.raised)

    @property
    def _torchrun(self) -> bool:
        """Whether lines of torchrun itself are in the log, as the warning is with which it starts several ranks."""
        return self._launch >= 0

    @functools.cached_property
    def _launch(self) -> int:
        """The place of torchrun's first line of its own; -1 without any."""
        return next((at for at, line in enumerate(self.lines) if TORCHRUN.search(line.full, 0, 200)), -1)


def _gives_in(text: str) -> bool:
    """Return whether torchrun says in a line that it starts no worker again."""
    return any(words in text for words in GAVE_IN)
