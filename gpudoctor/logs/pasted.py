"""What stands in a paste beside what a program printed: commands, code, and tables of other tools."""

import itertools
import re
from collections.abc import Sequence

from gpudoctor.logs.foreign_lines import CLOCK, FROM_C10, OPTION, PODS, SUMMARY, USAGE
from gpudoctor.logs.line_kinds import MEASURE, PROGRESS
from gpudoctor.logs.lines import Line
from gpudoctor.logs.notebooks import ARROW, IPYTHON, IPYTHON_OLD
from gpudoctor.patterns import late_pattern

PROMPT = late_pattern(
    r"^(?:\([\w.-]{1,40}\) ?)?\[?[\w.-]{1,40}@[\w.-]{1,80}(?::|\s)[^$#>]{0,80}\]?[$#](?: |$)|^PS [A-Z]:\\[^>]{0,120}>"
)
"""A shell's prompt, with the command that was typed behind it or none."""
COMMAND = late_pattern(
    r"^(?:[$!] ?)?(?:[A-Z_][A-Z0-9_]*=\S* +)*(?:sudo |time |nohup )?(?:python[\d.]* (?:-[a-zA-Z]\b|\S+\.py\b)|"
    r"(?:torchrun|deepspeed|srun|sbatch|salloc|mpirun|mpiexec|horovodrun|accelerate launch) -|"
    r"(?:pip3?|conda|mamba|uv|apt|apt-get) (?:install|pip|run|update|list|create|activate)\b|"
    r"(?:docker|kubectl) [a-z]{2,12}(?: |$)|ray (?:job|start|status|stop)\b|export [A-Z_][A-Z0-9_]*=)"
)
"""A command that somebody typed, or is told to type."""
ASSIGNED = late_pattern(
    r"^[A-Za-z_][\w.]*(?:\[[^\]]{0,60}\])? = (?!tensor\()(?:[A-Za-z_][\w.]*\(|[\[{]$)|"
    r"^(?:if|elif|for|while|with|except|def|class) .{0,200}:$|^(?:else|try|finally):$"
)
"""A line of a program's source that is no call."""
SHEET = late_pattern(r"^[A-Za-z][\w ()/-]{2,60} {2,}: ")
"""A row of what a tool says of a machine, such as ``nvidia-smi -q``: names and values, below each other."""
TUNES = late_pattern(
    r"^== Status ==$|^Memory usage on this node: |^Using (?:\w+HyperBand|FIFO scheduling|PBT|\w+Scheduler)\b|"
    r"^Bracket: |^Resources requested: |^Logical resource usage: |^Result logdir: |^Number of trials: "
)
"""What Ray Tune says of its trials every few seconds, whatever became of one (ray/tune/progress_reporter.py)."""
SUBMITTED = late_pattern(
    r"^Submitted batch job \d|^Job submission server address: |^Job '\S+' submitted successfully|"
    r"^Query the (?:logs|status) of the job|^Request the job to be stopped"
)
"""What Slurm and Ray say of a job that they were given; it has not run yet."""
HEADING = late_pattern(r"^#{1,6} [A-Z]")
"""A heading that somebody wrote."""
TITLE = late_pattern(r"^# \S")
"""The title of an issue, as it stands above the text."""
TITLE_MOST = 20
TYPED = late_pattern(r"\$ [a-z][\w.-]*(?: |$)|#{2,4} [A-Z][A-Za-z ]{2,40}$")
"""A command behind a prompt of which nothing else was copied, or a heading of an issue."""
TICK = "`"
FENCE = 3 * TICK
"""What stands above and below a block of code in an issue."""
ASKING = late_pattern(
    r"^(?:[^\[\]{}()<>=|/\\:]{3,160}(?:\?|\uff1f)+|"
    r"\W{0,3}(?:thanks?|thank you|any (?:ideas?|help|suggestions?)|please\b|pls\b|help\b|"
    r"how (?:to|can|do|should) |what (?:is|should|can|could|does) |why (?:is|does|do) |"
    r"does any(?:one|body) |you (?:should|can|could|need|may|have to) |hi\b|hello\b|"
    r"cheers|i am |i'm |i have |i've |it seems |no idea|"
    r"i (?:also |just |still |have |only )?(?:add|use|used|tried|try|set|run|ran|got|get|want|think|don't|do|did|can|"
    r"could|change|changed|installed|found|need|see|saw|follow|followed|checked|believe|guess|wonder|know|would|train|trained)\b)"
    r"[^={}|]{0,160}|"
    r".{0,60}(?:\u8c22\u8c22|\u8bf7\u95ee|\u6c42\u52a9|\u600e\u4e48(?:\u89e3\u51b3|\u529e)).{0,60})$",
    re.IGNORECASE,
)
"""What somebody writes who asks for help, in few words."""
SHOWS = late_pattern(
    r"^(?=.{0,80}\b(?:[Mm]y|[Oo]ur|I|[Ww]e|I'm|I've)\b)[^{}=|<>\[\]]{3,160}[:\uff1a]$|"
    r"^[^{}=|<>\[\]]{0,60}(?:\u6211|\u4ee5\u4e0b|\u5982\u4e0b)[^{}=|<>\[\]]{0,60}[:\uff1a]$"
)
"""What somebody writes above what he shows next: a file of settings, a command, the code."""
QUOTED_ERROR = late_pattern(r"([`\"])[^`\"]{0,200}?(?:Error\b|ERROR\b|[Ee]xit ?code)[^`\"]{0,300}\1")
COLONS = (":", "\uff1a")
TROUBLE = late_pattern(
    r"\b(?:crash(?:es|ed|ing)?|fail(?:s|ed|ing)?|errors?|killed|dies|died|stops|stopped|not work(?:ing)?|"
    r"(?:doesn|don|didn)'t work|"
    r"does not work|cannot|can't|unable to|exit code|OOM|out of memory|segfaults?)\b|"
    r"\b(?:just|suddenly|simply|silently|abruptly|immediately|unexpectedly) (?:exit|stop|end|quit|terminat|clos)\w*",
    re.IGNORECASE,
)
"""What somebody who asks for help says of a program that failed."""
NO_TROUBLE = late_pattern(
    r"\b(?:no|not|without|any|zero|fix\w*|solv\w*|resolv\w*|if|may|might|could|"
    r"would|can|handl\w*|avoid\w*|prevent\w*|never|0)\b.{0,24}$",
    re.IGNORECASE,
)
"""What stands in front of such a word where it tells of no failure."""
FIRST_PERSON = late_pattern(r"\b(?:I|I'm|I've|[Mm]y|help me)\b(?![./:])")
GOOD = late_pattern(
    r"\b(?:works? (?:well|fine|now|for me|great)|working (?:well|fine)|"
    r"(?:trains?|runs?|training|running|proceeds?|goes on) (?:very |just |quite )?(?:well|fine|normally|smoothly)|"
    r"(?:can |could |still ){1,2}(?:be trained|train|trains)\b|"
    r"training (?:is |still |just ){0,2}(?:continu\w+|goes on|works)|"
    r"(?:solved|fixed|resolved) (?:it|by|this|the|now|with)|successfully)\b",
    re.IGNORECASE,
)
"""What somebody says where all is well."""
WARNING = late_pattern(r"\.py:\d+: \w*Warning: ")
"""A warning of Python's; the line of source that gave it stands below."""
WARNS = late_pattern(r"\bwarnings?\b", re.IGNORECASE)
"""What somebody says who asks about a warning that he shows."""
WORDS = late_pattern(r"\W{0,2}[A-Za-z][A-Za-z'-]*\W{0,2}|\d{1,4}|[\w-]+\)?[.,]?")
WORD = late_pattern(r"[A-Za-z]['A-Za-z-]*[,.]?")
LEAST_WORDS = 3
MARKED = late_pattern(
    r"^(?:\[|\w*(?:Warning|Error|Exception)\b|[A-Z]+:|(?:ERROR|WARN|INFO|WARNING|CRITICAL|DEBUG|note|warning|error)\b|"
    r"\w+[:=]|#|\*|-|>|\S+\.py)"
)
"""How a line of a program begins."""
BESIDE = (
    *(IPYTHON, IPYTHON_OLD, ARROW, SUMMARY, CLOCK, USAGE, OPTION, FROM_C10),
    *(PROMPT, COMMAND, ASSIGNED, TUNES, SUBMITTED, HEADING, ASKING, PODS),
)


def beside_output(line: Line, above: Line | None) -> bool:
    """Return whether a line is no output of a program, as it begins or as the one `above` it tells."""
    text = line.text[:400]
    if any(words.match(text) for words in BESIDE) or _shows(line):
        return True
    if above is not None and line.indent and WARNING.search(above.text, 0, 400):
        return True
    return SHEET.match(text) is not None and MEASURE.search(text) is None


def complaint(lines: Sequence[Line]) -> Line | None:
    """Return the line in which somebody says that a program failed; ``None`` where nobody does, or all is well."""
    prose = [line for line in lines if line.full.strip() == line.text and _prose(line.text[:600])]
    if any(GOOD.search(line.text, 0, 600) for line in prose):
        return None
    if any(WARNS.search(line.text, 0, 600) for line in prose) and any(map(_warning, lines)):
        return None
    for line in prose:
        found = TROUBLE.search(line.text, 0, 600)
        warns = "warnings.warn(" in line.text  # he takes the warning that he shows for an error
        if found is not None and not warns and not NO_TROUBLE.search(line.text, 0, found.start()):
            return line
    return None


def title(lines: Sequence[Line]) -> int:
    """Return the place of the title above the text of an issue; -1 without one, or where all lines are comments."""
    first, *rest = [place for place, line in enumerate(lines[:TITLE_MOST]) if line.text] or [-1]
    if first < 0 or not TITLE.match(lines[first].text) or (rest and lines[rest[0]].text.startswith("#")):
        return -1
    return first


def block_ends(lines: Sequence[Line]) -> list[tuple[int, bool]]:
    """Return the places of the marks that stand above and below blocks of code of an issue, and whether one ends there.

    Of an odd number of marks the first or the last was cut off, and each may be an end. A mark with a language begins.
    """
    marks = [place for place, line in enumerate(lines) if line.full.lstrip(" >").startswith(FENCE)]
    begins = [lines[place].full.strip(" >") != FENCE for place in marks]
    odd, first = len(marks) % 2 == 1, int(any(begins[1::2]))
    rows = enumerate(zip(marks, begins, strict=True))
    ends = [(place, not begin and (odd or at % 2 != first)) for at, (place, begin) in rows]
    shown = [place for place, line in enumerate(lines) if (not marks and _shows(line)) or _begins(line)]
    last = next((p for p in reversed(range(len(lines))) if _progress(lines[p])), -1) if shown else -1
    return sorted([*ends, *_ticks(lines), *((place, True) for place in shown if place > last)])


def _ticks(lines: Sequence[Line]) -> list[tuple[int, bool]]:
    """Return where what stands between two single back ticks ends, which are no two of one line."""
    odd = [place for place, line in enumerate(lines) if line.full.count(TICK) % 2 and FENCE not in line.full]
    return [
        (end + 1, True)
        for begin, end in itertools.pairwise(odd)
        if lines[begin].full.lstrip(" >").startswith(TICK) and lines[end].full.rstrip().endswith(TICK)
    ]


def leading_up(lines: Sequence[Line], mark: int) -> int:
    """Return the place of the line above a block of code in which somebody leads up to it in words; -1 without one."""
    above = next((place for place in reversed(range(mark)) if lines[place].text), -1)
    words = lines[above].text.removesuffix(":").split() if above >= 0 else []
    return above if len(words) >= LEAST_WORDS and all(map(WORD.fullmatch, words)) else -1


def _warning(line: Line) -> bool:
    return WARNING.search(line.text, 0, 400) is not None


def _progress(line: Line) -> bool:
    return PROGRESS.search(line.text, 0, 400) is not None


def _shows(line: Line) -> bool:
    """Return whether somebody writes in a line of an issue what he shows below it."""
    return line.text[-1:] in COLONS and SHOWS.match(line.text) is not None


def _begins(line: Line) -> bool:
    """Return whether another command's output begins below a line, at a shell's prompt, or another part of an issue."""
    if line.text.startswith(("$ ", "##")):
        return TYPED.match(line.full) is not None
    return "@" in line.text[:100] and PROMPT.match(line.text[:400]) is not None


def quoted_in_words(text: str) -> bool:
    """Return whether a line is a sentence in which somebody quotes an error, in quotation marks or back ticks."""
    found = QUOTED_ERROR.search(text, 0, 600)
    if found is None or not text[: found.start()].strip():
        return False
    return _prose(f"{text[: found.start()]} {text[found.end() : 600]}")


def in_first_person(text: str) -> bool:
    """Return whether somebody tells in a line what he did, or asks for help: no program says "I"."""
    return FIRST_PERSON.search(text, 0, 600) is not None and _prose(text[:600])


def _prose(text: str) -> bool:
    """Return whether a line is what a person wrote: words, most of them small ones, and no program's mark in front."""
    words = text.split()
    plain = sum(WORDS.fullmatch(word) is not None for word in words)
    return len(words) >= 5 and plain > 0.7 * len(words) and not MARKED.match(text)
