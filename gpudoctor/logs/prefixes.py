"""What launchers, loggers, shells and issue trackers put in front of a line: taken off, and understood.

Each pattern matches at the beginning of what is left of a line. Its groups say whose line it is: rank, host, pid, and
when it was written.
"""

import re
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from itertools import islice, pairwise
from typing import NamedTuple

from gpudoctor.patterns import late_pattern

_CLOCK = r"(?P<clock>\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)"
_UNIT = r"[A-Za-z][\w.@/-]{0,60}\[(?P<pid>\d+)\]: ?"
"""The program or service in front of what it wrote, as systemd's journal has it."""

_ALWAYS = [
    r"[ \t]{0,80}(?:>[ \t]?)+",  # quoted by an issue tracker or a mail
    r"[ \t]{0,8}\| (?=\d{4}-\d\d-\d\dT\d\d:)",  # the table of a cloud's log, the time in its first column
    r"`{1,3}(?=[^\s`])",  # a line of its own in back ticks
    # torch's own in a traceback, Lightning's, accelerate's: the global rank, whatever stands in front of it
    r"[ \t]{0,4}\[(?:rank|RANK|Rank)[ :=]{0,2}(?P<own>\d{1,5})\](?:(?=\[)|(?::? )?:?)",
    r"\[(?:default|local_rank)[ :=]{0,2}(?P<rank>\d{1,5})\](?:(?=\[)|(?::? )?:?)",  # torchrun's --tee: the local rank
    r"\((?:rank|Rank|RANK)[ :=]{0,2}(?P<rank>\d{1,5})\)(?::? )?:?",
    r"(?:rank|Rank|RANK)[ _]?(?P<rank>\d{1,5})(?: ?\||:)[ \t]",
    r"\[\d+,(?P<rank>\d{1,5})\]<std(?:out|err|diag)>: ?",  # mpirun --tag-output
    r"\[\d+,mpirank:(?P<rank>\d{1,5}),(?P<host>[\w.-]{1,60})\]<std(?:out|err)>: ?",  # SageMaker
    r"\((?:\w[\w.:-]{0,60} )?(?:rank=(?P<rank>\d{1,5}),? ?)?pid=(?P<pid>\d+)(?:, ip=(?P<host>[\w.:-]+))?\) ?",  # Ray, vLLM
    r"\[pod/(?P<host>[\w.-]+)(?:/[\w.-]+)?\] ",  # kubectl logs --prefix
    r"(?P<host>[A-Za-z][\w.]{0,50}[-_]\d{1,4})[ \t]{1,20}\| ?",  # docker compose
    # Kubernetes, ISO 8601, Python's logging, with or without brackets
    rf"\[?(?P<date>\d{{4}}-\d\d-\d\d)[T _-]{_CLOCK}(?:Z|[+-]\d\d:?\d\d)?\]?(?:[ \t]+(?:stdout|stderr) [FP])?(?:[ \t:,|-]{{1,3}}|$|(?<=\])(?=\[))",
    rf"\[?(?P<date>\d\d/\d\d/\d{{2,4}}) {_CLOCK}\]?(?:[ \t:,|-]{{1,3}}|$)",
    rf"\[?(?P<date>\d\d-\d\d) {_CLOCK}\]?(?:[ \t:,|-]{{1,3}}|$)",
    rf"\[?{_CLOCK}\]?(?:[ \t:,|-]{{1,3}}|$|(?=\[))",
    rf"(?P<date>[A-Z][a-z]{{2}} [ \d]\d) {_CLOCK} (?P<host>[\w.-]+) (?:{_UNIT}|(?=\S{{1,40}}: |kernel))",  # syslog
    rf"(?P<host>[A-Za-z][\w.-]{{0,60}}) {_UNIT}",  # the same behind a date of ISO 8601
    rf"\[(?P<date>[A-Z][a-z]{{2}} [A-Z][a-z]{{2}} [ \d]\d) {_CLOCK} \d{{4}}\] ",  # dmesg -T
    # glog's, as torch writes it: [rank0]:[E504 22:44:08.389 ProcessGroupNCCL.cpp:1896] and W1120 00:16:41.369 3700 run.py:803]
    # behind it the frame that torch.compile is at, and what it was asked to tell
    rf"\[?[IWEFV] ?(?P<date>\d{{3,4}}) {_CLOCK}(?: \d+)? [\w./-]+:\d+\](?: \[\d+/\w+\])?(?: \[__\w+\])? ?",
    # NCCL's: host:pid:tid [gpu] file:line NCCL WARN, the rest is left
    r"(?P<host>[\w.-]{1,60}):(?P<pid>\d+):\d+ (?=\[)",
    r"\[(?!\S+\.(?:py|cpp|cc|cu):|PID:)(?P<host>[A-Za-z][\w.-]{0,60}):(?P<pid>\d+)\] (?!\[PID:)",  # mpirun's own
]
DIGITS = late_pattern(r"\d+")
MONTHS = {
    name: number for number, name in enumerate("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)
}
_LEVELS = "INFO|WARNING|WARN|ERROR|DEBUG|CRITICAL|FATAL"
_LOGGERS = [
    # logging's name in front of the level (mmengine, trl), or behind it (fairseq, loguru)
    rf"(?!\d)[\w.-]{{1,60}} - (?:{_LEVELS}) - ",
    rf"(?:{_LEVELS}) {{1,9}}\| [\w.-]{{1,60}}(?::[\w<>]{{1,60}}:\d+)? [|-] ",
    rf"\[[A-Za-z_][\w.-]{{0,80}}\]\[(?:{_LEVELS})\] - ",  # Hydra
    rf"\[NeMo [A-Z] (?P<date>\d{{4}}-\d\d-\d\d) {_CLOCK} [\w.-]{{1,80}}:\d+\](?:[ \t]|$)",
    rf"\[(?P<date>\d\d/\d\d) {_CLOCK} [A-Za-z][\w.-]{{0,60}}\]: ?",  # detectron2
    # logrus, for a file and for a terminal: Docker, operators of Kubernetes
    rf"time=\"?(?P<date>\d{{4}}-\d\d-\d\d)[T ]{_CLOCK}(?:Z|[+-]\d\d:\d\d)?\"? level=[a-z]{{4,7}} (?:msg=\"?)?",
    r"(?:DEBU|INFO|WARN|ERRO|FATA)\[\d{1,6}\] {1,9}",
    r"\[[A-Za-z][\w.]{0,100}:\d+\] (?=\[PID:)",  # axolotl, then process and rank
    r"\[PID:(?P<pid>\d+)\] ",
    r"\[[\w.-]{1,60}:(?P<rank>\d{1,5})/\d{1,5}\] (?=\d{4}-\d\d-\d\d )",  # ESPnet's host and rank
    rf"\([\w.-]{{1,60}}:\d+\) (?=(?:{_LEVELS}): )",
    r"(?P<host>\d{1,3}(?:\.\d{1,3}){3}) \[(?P<rank>\d{1,4})\] ",  # torch_xla's xla_dist, behind the time
    r"[IWEF](?: +\d+)? [\w./-]{1,120}\.cc:\d+\] ?",  # TensorFlow and XLA, behind the time
    r"[DIWEC] (?P<pid>\d+) \d+\] (?:\([\w-]{1,40}\) )?(?:[\w./-]{1,120}\.(?:cc|h):\d+: {1,2})?",  # Ray, behind the time
]
_LEVEL = late_pattern(rf"\[?(?:{_LEVELS}|stderr|stdout)\]?[ \t]{{0,9}}(?:[:|-]+[ \t]?|(?=\[|\d))")
_WHERE = late_pattern(r"\[?[\w./-]{1,200}\.(?:py|cpp|cc|cu):\d+(?::\w+)?\][ \t]?(?:-(?=\w))?")
PATTERNS = [late_pattern(p) for p in [*_ALWAYS, *_LOGGERS]] + [_LEVEL, _WHERE]
# Each of these means a rank or host only where most lines of a text begin with it.
_MOSTLY = {
    "srun": late_pattern(r"[ \t]{0,4}(?P<rank>\d{1,5}): "),
    "bracket": late_pattern(r"\[(?P<rank>\d{1,5})\]:? "),
    # a launcher of somebody's own: [worker 1], (gpu 0), r3>, proc-2 |
    "tag": late_pattern(
        r"[\[(<]?(?:worker|rank|proc(?:ess)?|gpu|trainer|replica|[rwp])[ _:#=-]{0,2}(?P<rank>\d{1,4})(?:/\d{1,4})?"
        r"(?:[\])>] ?[:|]?|[:>]| ?\|)[ \t]",
        re.IGNORECASE,
    ),
    "numbered": late_pattern(r"[ \t]{0,6}(?P<number>\d{1,6})(?:[:|]|\t|  )[ \t]?"),
    # docker's name of a service, its replica, task and node (docker service logs); of a container without a number
    "service": late_pattern(
        r"(?P<host>[A-Za-z][\w.-]{0,60}?)(?:\.[a-z\d]{8,30}@[\w.-]{1,60})?[ \t]{1,30}\|[ \t]"
    ),
    "host": late_pattern(r"(?P<host>[A-Za-z][A-Za-z_.-]{0,40}\d{1,5}[\w.-]{0,40}|\d{1,3}(?:\.\d{1,3}){3}): "),
    "comment": late_pattern(r"# ?"),
}
_INSIDE = late_pattern(r"\[Rank (\d{1,5})\]|\bPG[^\]\n]{0,80} Rank (\d{1,5})\]|\bFrom Rank: (\d{1,5}),")


class Prefix(NamedTuple):
    """What stood in front of a line."""

    length: int
    rank: int | None
    """The global rank where the process names it itself, else what a launcher puts in front: perhaps a local rank."""
    host: str | None
    pid: str | None
    seconds: float | None
    """Since the beginning of the year, by the clock that wrote it."""
    launched: int | None = None
    """The rank that a launcher puts in front of the process's own."""


def habits(lines: Iterable[str]) -> list[re.Pattern[str]]:
    """Return the patterns of prefixes that most of a text's lines bear, behind the ones that speak for themselves."""
    rows = [line[read(line).length :] for line in islice((line for line in lines if line.strip()), 2000)]
    found = []
    for name, pattern in _MOSTLY.items():
        numbers = [m for row in rows if (m := pattern.match(row))]
        if len(numbers) < 3 or len(numbers) < 0.6 * len(rows):
            continue
        if name in ("srun", "bracket", "tag", "numbered"):
            counted = [int(m[1]) for m in numbers]
            rising = all(a < b for a, b in pairwise(counted))
            if rising != (name == "numbered"):
                continue
        if name in ("host", "service") and len(Counter(m[1] for m in numbers)) > max(1, len(numbers) // 3):
            continue
        found.append(pattern)
    return found


def read(line: str, also: Iterable[re.Pattern[str]] = ()) -> Prefix:
    """Take the prefixes off a line; `also` are those that `habits` found."""
    at = 0
    said: dict[str, str] = {}
    patterns = [*also, *PATTERNS]
    for _ in range(8):
        match = next((m for p in patterns if (m := p.match(line, at)) and m.end() > at), None)
        if match is None:
            break
        at = match.end()
        groups = match.groupdict()
        if "own" in said and groups.get("own"):
            said.setdefault("rank", said.pop("own"))
        said.update({name: value for name, value in groups.items() if value and name not in said})
    if not {"rank", "own"} & said.keys() and (inside := _INSIDE.search(line, 0, 400)):
        said["rank"] = inside[1] or inside[2] or inside[3]
    ranks = [int(said[name]) for name in ("own", "rank") if name in said]
    seconds = _seconds(said.get("date"), said.get("clock"))
    launched = ranks[1] if len(ranks) > 1 else None
    return Prefix(at, ranks[0] if ranks else None, said.get("host"), said.get("pid"), seconds, launched)


def _seconds(date: str | None, clock: str | None) -> float | None:
    if clock is None:
        return None
    hours, minutes, seconds = clock.replace(",", ".").split(":")
    return _day(date) + int(hours) * 3600 + int(minutes) * 60 + float(seconds)


@lru_cache(maxsize=1024)
def _day(date: str | None) -> float:
    """Return the seconds from the beginning of the year to a date; 0 where it is none. A log has few.

    `strptime` would do, and brings a calendar in all languages along.
    """
    numbers = [int(number) for number in DIGITS.findall(date or "")]
    word = next((name for name in MONTHS if date and name in date), None)
    if word is not None:
        month, day = MONTHS[word], numbers[-1] if numbers else 0
    elif len(numbers) == 1:  # glog's 0504 and torch's 504
        month, day = divmod(numbers[0], 100)
    elif len(numbers) == 3 and date and date.index("-" if "-" in date else "/") == 4:
        month, day = numbers[1:]  # with the year in front
    else:
        month, day = (*numbers, 0, 0)[:2]
    try:
        # Some clocks give no year: all days are put into one, a leap year.
        return since_new_year(datetime(2000, month, day))
    except ValueError:
        return 0.0


def since_new_year(moment: datetime) -> float:
    """Return the seconds since the beginning of the year, every year taken for a leap year."""
    clock = moment.hour * 3600 + moment.minute * 60 + moment.second
    return clock + 86400 * moment.replace(year=2000).timetuple().tm_yday
