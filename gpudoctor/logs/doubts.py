"""Why a failure that a log shows may not have ended its process."""

import re
from bisect import bisect_left, bisect_right

from gpudoctor.logs.aftermath import LOGGED, MANY
from gpudoctor.logs.command_ends import STATUS
from gpudoctor.logs.foreign_lines import SETUP
from gpudoctor.logs.handling import CONTROL
from gpudoctor.logs.line_kinds import (
    CLOSING,
    ENOUGH,
    FAILURE,
    FINISHED,
    LEFT,
    MEASURE,
    NOISE,
    PROGRESS,
    REPEATED,
    REPR,
    SETTLED,
    TESTED,
    TYPED,
    is_last_step,
    is_result,
    reports_failure,
    tells_of_failure,
)
from gpudoctor.logs.lines import FULL, Line
from gpudoctor.logs.middle import middle
from gpudoctor.logs.pasted import quoted_in_words
from gpudoctor.logs.raised import CUT_OFF, Raised
from gpudoctor.logs.recurrence import same_begin, shapes
from gpudoctor.logs.timeline import WARNED, Timeline
from gpudoctor.patterns import late_pattern

LOADERS = late_pattern(r"[/\\]utils[/\\]data[/\\]|pin_memory")
"""A frame of the threads that a data loader has."""
OF_LAUNCHER = late_pattern(r"\bSignalException: Process \d")
"""What torchrun raises where a signal ended it, and its workers with it: none of them goes on."""
RESULT_OF_CALL = late_pattern(r" -> [1-9]\b")
"""How NCCL shows the way of an error through its functions."""
PYTHON_WARNED = late_pattern(r"\.py:\d+: \w*Warning: ")
"""How Python prints a warning (warnings.formatwarning)."""
CALLS_WORK = late_pattern(
    r"(?i)\b_*(?:main|run|train|fit|loop|launch|start|work|cli|app|experiment|job|pipeline|step|epoch|forward|backward|"
    r"fn|func|function|target|load|read|fetch|iter|next)\w*\("
)
"""A call of what may be the whole program's work, or what it cannot do without."""
TURN = late_pattern(r"(?i)\b(?:epoch|step|iter(?:ation)?|batch|round|case|fold|trial)s?\b\W{0,4}\d")
"""A turn of a loop, with its number."""
OWN_WORDS = late_pattern(r"(?=[a-z(\[])(?:[\w()\[\]#/-]{1,40} ){1,6}[\w()\[\]#/-]{1,40}: (?=[A-Z])")
"""A few words of a program in front of a message; a tool's name, in front of its own, is one word."""


class Doubts(Timeline):
    """What is asked of the cause: whether it may have been got over."""

    def doubt(self, line: Line, place: int) -> str:
        """Say why a failure may not have ended its process; nothing where that is no question."""
        if place == self.title or quoted_in_words(line.full):
            return ""
        if self._over_and_over(line, place) and not SETTLED.search(line.text, 0, 400):
            return ""
        if self._never_ran(line, place):
            return ""
        below = self.goes_on(line) and self._output_below(place) and not self._only_words_below(line, place)
        below = below and not (self.asked and not self._results_below(place))
        below = below and not (self.task_ended(line, place) or self._stopped_below(place))
        below = below and not (OF_LAUNCHER.search(line.text) and not self._results_below(place))
        if below and not self._ends_uncaught() and not self._ended_rank(line, place):
            return "The log goes on below it: it may have been got over."
        told = self._told_below(place) or self._fell(place) or self._starved(line, place)
        alone = not (told or self.asked)
        if alone and self._only_informed(line):
            return (
                "NCCL only informs of it, and nothing shows that something failed: it may have got over it."
            )
        if self.in_thread(line, place) and not told:
            return "It ended a thread or a task, and not the process."
        if alone and self.python_warned(line, place):
            return "Python only warned of it, and the program went on."
        if alone and self._says_without(line, place):
            return "The program says itself that it does without."
        if alone and self._ended_loop(line, place):
            return "With such an exception a program may end a loop, and no traceback is here."
        if alone and self._only_warnings(line, place):
            return "torch only warned of it; where the training waits, that may be why."
        if alone and self._caught_each_time(line, place):
            return "It was caught, as before, where the program had gone on: it may have been got over."
        if not told and self._behind_the_end(line, place):
            return "It was caught, it seems, and the work was done by then: it may have been got over."
        only_told = self._only_told(line, place) or self._perhaps_told(line, place)
        if not told and only_told and not (self.asked and not self._results_below(place)):
            return (
                "It was caught, and nothing shows that the program ended with it: it may have been got over."
            )
        return ""

    def python_warned(self, line: Line, place: int) -> bool:
        """Return whether a line is a warning of Python's, with its place in front: one that is raised has none."""
        raised = self.around(line, place)
        return PYTHON_WARNED.search(line.full, 0, 400) is not None and (raised is None or bool(raised.told))

    def _only_warnings(self, line: Line, place: int) -> bool:
        """Return whether torch's C++ warned, as it went on, and nothing in the log was raised."""
        return WARNED.search(line.full) is not None and not self.raised and self._last_failure <= place

    def _says_without(self, line: Line, place: int) -> bool:
        """Return whether a program names a failure in its own words, and says there that it did without."""
        raised = self.around(line, place)
        told = raised is None or (bool(raised.told) and not raised.frames)
        return told and SETTLED.search(line.text, 0, 400) is not None and not self._gave_up(line, place)

    def _ended_loop(self, line: Line, place: int) -> bool:
        """Return whether an exception with which loops are ended stands below results, without a traceback."""
        raised = self.around(line, place)
        if raised is None or raised.frames or CONTROL.match(raised.type) is None or self.marked(line):
            return False
        return self.got_somewhere

    def _only_informed(self, line: Line) -> bool:
        """Return whether NCCL informs of something, in no way of an error through it, and nothing was raised."""
        informs = SETUP.search(line.full) is not None and RESULT_OF_CALL.search(line.text) is None
        return informs and not (self.raised or self.gave_in) and self.reported < 0

    def _starved(self, line: Line, place: int) -> bool:
        """Return whether a data loader's thread died and the log ends there, in the middle: no batch came any more."""
        raised = self.around(line, place)
        if raised is None or not any(LOADERS.search(frame.path) for frame in raised.frames):
            return False
        return middle(self.lines[: raised.first]) != "" and not self._output_below(place)

    def _stopped_below(self, place: int) -> bool:
        """Return whether who started a program says below a failure that it left with one, and no result follows."""
        texts = [x.text[:400] for x in self.lines[place + 1 :] if x.text and not NOISE.search(x.text)]
        left = [at for at, text in enumerate(texts) if STATUS.search(text) and not SETTLED.search(text)]
        return bool(left) and not any(is_result(text, beyond_doubt=True) for text in texts[left[-1] + 1 :])

    def _only_words_below(self, line: Line, place: int) -> bool:
        """Return whether a paste begins with an exception, and nothing below it is a result of a program."""
        raised = self.around(line, place)
        if raised is None or not self.begins_with(raised):
            return False
        return not self._results_below(place)

    def _only_told(self, line: Line, place: int) -> bool:
        """Return whether a program tells of an exception in words of its own, and not that it ends with it.

        It had caught it when it wrote the line. What somebody quotes without a program's output is another matter.
        """
        raised = self.around(line, place)
        if raised is not None and raised.frames:
            return self._only_logged(raised) or self._only_printed(raised)
        object_ = _named(line.text[:400]) if raised is None else None
        said = raised.told if raised is not None else line.text[: object_.start()] if object_ else ""
        if not said or (raised is not None and raised.wrapper) or self.marked(line):
            return False
        if any(one.at_top and one.first > place and one.type == CUT_OFF for one in self.raised):
            return False  # the program ended with what it told of
        texts = self.texts[line.name, line.who]
        below = [text for _, text in texts[bisect_right(texts, place, key=lambda row: row[0]) :]]
        if self.gave_in or any(LEFT.search(text, 0, 400) for text in [said, *below[-2:]]):
            return False
        told = {one.place for one in self.raised}
        return any(p not in told and self._ordinary(p) for p in range(len(self.lines)))

    def _perhaps_told(self, line: Line, place: int) -> bool:
        """Return whether a program says in its own words, behind its results, what an exception's message says.

        Python itself writes the type in front of it.
        """
        said = OWN_WORDS.match(line.text)
        if said is None or self.around(line, place) is not None or self.marked(line) or self.reported >= 0:
            return False
        if self.gave_in or LEFT.search(said[0]) or FAILURE.search(said[0]):
            return False
        above = self.results[line.name, line.who]
        return any(
            p < place and is_result(self.lines[p].text[:400], beyond_doubt=True) for p in above[-MANY:]
        )

    def _caught_each_time(self, line: Line, place: int) -> bool:
        """Return whether a handler printed an exception from the same line often, and this was the last of them."""
        raised = self.around(line, place)
        if raised is None or not raised.caught or raised.wrapper or self.marked(line):
            return False
        if self.gave_in or self._told_below(place) or self._gave_up(line, place) or self._said_below(raised):
            return False
        if any(one.first > raised.last and not (one.caught or one.late) for one in self.raised):
            return False
        spans = self.spans[line.name, line.who][-MANY:]
        return len(same_begin(raised, spans)) + 1 >= ENOUGH

    def _only_printed(self, raised: Raised) -> bool:
        """Return whether a handler printed a traceback of something beside the work last of all, below results.

        The line that tried it calls nothing that sounds as if it was the work itself.
        """
        tried = raised.frames[0].text
        if not (raised.caught and self._headed(raised) and tried) or raised.wrapper or self.gave_in:
            return False
        if CALLS_WORK.search(tried) or self._told_below(raised.place) or raised.chained:
            return False
        # What names no rank may be any one's.
        rows = [p for p, x in enumerate(self.lines) if x.text and x.name == raised.line.name]
        rows = [p for p in rows if not raised.line.who or self.lines[p].who == raised.line.who]
        at = bisect_left(rows, raised.first)
        if not at or rows[-1] > raised.last or not self._ordinary(rows[at - 1]):
            return False
        above = self.lines[rows[at - 1]]
        if LOGGED.search(above.full) or reports_failure(above.full, above.text) or FAILURE.search(above.text):
            return False
        # What comes once, and names no turn of a loop, is of the whole.
        kind = shapes([above.text])
        own = (self.lines[p] for p in rows[max(0, at - MANY) : at - 1])
        again = any(x.who == above.who and not kind.isdisjoint(shapes([x.text])) for x in own)
        return MEASURE.search(above.text) is not None and not again and TURN.search(above.text) is None

    def _only_logged(self, raised: Raised) -> bool:
        """Return whether a logger wrote a traceback last of all, its line tells of no failure, and results stand above.

        What says "the run failed" there, or quotes the exception, is how many a program ends.
        """
        if not raised.caught or not self._headed(raised) or raised.wrapper or self.gave_in:
            return False
        texts = self.texts[raised.line.name, raised.line.who]
        at = bisect_left(texts, raised.first, key=lambda row: row[0])
        if at == 0 or texts[-1][0] > raised.last:
            return False
        level = LOGGED.search(self.lines[texts[at - 1][0]].full)
        said = level.string[level.end() :].strip(" :|[]->") if level is not None else ""
        fatal = level is not None and level[0] in ("CRITICAL", "FATAL")
        ends = fatal or tells_of_failure(said) or LEFT.search(said, 0, 400) or FAILURE.search(said, 0, 400)
        own = [text for p, text in texts[: at - 1] if self._ordinary(p) and not self.around(self.lines[p], p)]
        results = any(is_result(text[:400], beyond_doubt=True) for text in own)
        return bool(said) and not ends and raised.message[:40] not in said and results

    def _behind_the_end(self, line: Line, place: int) -> bool:
        """Return whether a handler printed an exception, it seems, of what its process did when its work was done."""
        raised = self.around(line, place)
        if raised is None or raised.wrapper:
            return False
        below = [one for one in self.raised if one.first > self.last_of_chain(raised).last]
        fallen = len(same_begin(raised, below)) < len(below) or self._gave_up(line, place)
        done = self._caught(raised) and (self._done_above(raised) or self._perhaps_aside(line, place))
        return done and not fallen

    def _done_above(self, raised: Raised) -> bool:
        """Return whether the last that a process printed above an exception is a good end of its work.

        That is a word of one, the last step of all, a bar that is full, or the result on the test set, told once.
        """
        text = self._above(raised)
        if FULL.search(text) or is_last_step(text):
            return True
        if TESTED.search(text) and not REPEATED.search(text):
            kind = shapes([text])
            own = self.texts[raised.line.name, raised.line.who]
            return sum(not kind.isdisjoint(shapes([each])) for at, each in own if at < raised.first) == 1
        other = tells_of_failure(text) or CLOSING.search(text) or PROGRESS.search(text)
        return FINISHED.search(text) is not None and not other


def _named(text: str) -> re.Match[str] | None:
    """Return where a program wrote an exception: as Python writes the object, or its type and message."""
    return REPR.search(text) or TYPED.search(text)
