"""The training hangs without a message, and the processes wait for each other.

## What happens

The log ends in the middle of training, nothing is raised, GPUs show 100 % or 0 %, and the job runs on until someone or a
time limit ends it. The log itself then tells nothing. What tells is where each process is: a dump of py-spy, or of
Python's `faulthandler`.

## Why

A collective waits until every rank has called it. With NCCL the time-out is 10 minutes (30 until torch 2.1), with gloo 30,
and longer where the script or a library sets it so; until then nobody says anything. One rank does not come because:

| where the late rank is | why |
|---|---|
| in another collective, or in the same one at another line | the ranks take different branches: `if rank == 0:`, a metric, an early stop (`rank-desync`) |
| behind the loop, in `destroy_process_group`, saving or evaluating | it had fewer batches (`uneven-inputs`) |
| in `_next_data`, `poll` or `select` of a DataLoader | a worker hangs: slow storage, a lock or thread that was there when it was forked |
| in a file lock or `wait (torch/utils/file_baton.py)` | another process compiles, or died while it did (`extension-lock`) |
| nowhere: the process is gone | it died or was killed, and its own output says how |
| in `synchronize`, `item` or `cpu` | its GPU waits: the collective before is the one that hangs |

If all are in the same collective at the same line, the network or the links between the GPUs do not carry it.

## How to tell

`py-spy dump --pid PID` for each process, and again a minute later: a process whose lines have changed is only slow. Give
all dumps to `gpudoctor explain`. py-spy may look at a process of your own if `/proc/sys/kernel/yama/ptrace_scope` is 0; with
1 or 2 it needs root, in docker `--cap-add SYS_PTRACE`; with 3 nobody may. Where it may not, `faulthandler` is the way: it
needs no right at all. `gpudoctor check`, run by a rank, says beforehand which it is. `gpudoctor run` watches meanwhile: when
it is ended, by Ctrl-C or a time limit, it says which ranks waited, which computed and which had gone, and where they stood if
py-spy is installed.

## See also

- [py-spy](https://github.com/benfred/py-spy): dump, and the rights that it needs
- [Yama](https://docs.kernel.org/admin-guide/LSM/Yama.html): what each `ptrace_scope` forbids
- [faulthandler](https://docs.python.org/3/library/faulthandler.html#faulthandler.dump_traceback_later): prints all stacks after a time
- [torchtitan#1342](https://github.com/pytorch/torchtitan/pull/1342): a rank that hangs in `destroy_process_group`
- [monitored_barrier](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.monitored_barrier): names who
  is missing
"""

import itertools
import re
from collections.abc import Iterator

from msgspec import Struct

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom
from gpudoctor.facts import Host, Launch

# A frame in which a process waits for others or for its GPU, as py-spy and as faulthandler write it.
WAITING = (
    r"torch[/\\]distributed[/\\](?:distributed_c10d|_functional_collectives)\.py|"
    r"(?:backward|synchronize|wait_event|wait_stream)\b.{0,8}\((?:\S{0,200}[/\\])?torch[/\\](?:autograd|cuda)[/\\]|"
    r"torch[/\\](?:autograd|cuda)[/\\]\w+\.py\", line \d+ in \w{0,20}(?:backward|synchronize)"
)
# What Python's traceback of a Ctrl-C names where a process waited for others.
WAITED = (
    r"torch[/\\](?:distributed[/\\](?:distributed_c10d|c10d_logger|_functional_collectives|rendezvous)|"
    r"nn[/\\]parallel[/\\]distributed)|torch[/\\]cuda[/\\]__init__\.py\", line \d+, in synchronize|"
    r"\b(?:dist|distributed|accelerator)\.(?:barrier|all_reduce|broadcast|all_gather|reduce|init_process_group|wait_for_everyone)\("
)
# The same of one that waited for those that it had started: it does so as long as all is well, too.
STARTER = r"torch[/\\](?:multiprocessing[/\\]spawn\.py|distributed[/\\]elastic)"
PRESSED = rf"\^C[\s\S]{{0,4000}}?{STARTER}|{STARTER}[\s\S]{{0,4000}}?\^C"
# What a training prints as it goes.
STEPS = (
    r"\b(?:[Ee]poch|EPOCH|[Ss]tep|[Ii]ter(?:ation)?|[Bb]atch)s?\b\W{0,12}\d|\b[Ll]oss\b\W{0,4}\d|"
    r"(?<![\d.])\d{1,6}(?:\.\d{1,4})?\s?(?:it/s|s/it)|[1-9]\d?%\|"
)
# What somebody writes of a program that stands still; not what a library says may happen.
# Python looks at the words in front: see `somebody`.
HANGS = r" (?P<said>hangs?|hung|hanging|stuck(?:s|ed)?|freez(?:es|ed|ing)|frozen)\b"
UNSURE = re.compile(
    r"\b(?:may|might|can|could|would|should|potentially|possibl[ey]|avoid\w*|prevent\w*|detect\w*|not|no|never|without|if|any|for|fix\w*|"
    r"solv\w*|caus\w*|longer|or|experienc\w*|used to|until|unless|whether|watchdog|loss|acc\w*|mAP|metrics?|scores?|[Ww]eights?|layers?|[Pp]aram\w*|backbone|encoder|[Mm]odules?)\b|n't\b",
    re.IGNORECASE,
)
WORD = re.compile(r"\W{0,2}[A-Za-z][A-Za-z'-]*\W{0,2}")
# What somebody quotes in a sentence: an option, a command; and the mark of an issue's title.
QUOTED = re.compile(r"`[^`]{1,200}`|\"[^\"]{1,400}\"")
TITLE = re.compile(r"^#{1,6} (?=[A-Za-z])")
PROGRAMS = re.compile(
    r"^(?:[\w.]{0,60}\.)?[A-Z]\w{2,40}(?:Error|Exception): |\.(?:py|cpp|cc|cu|h):\d+|\bWarning:|\bNCCL (?:INFO|WARN)|[{}=]|^\W*#|\s# |\bINFO\b"
)
FRAME = re.compile(
    r"^\s*(?:(?P<name>[\w.<>]+) \((?P<path>[^()]+?):(?P<line>\d+)\)|File \"(?P<file>[^\"]+)\", line (?P<at>\d+) in (?P<of>\S+))$"
)
LIBRARY = re.compile(r"^(?:torch|multiprocessing)[/\\]|site-packages|[/\\]lib[/\\]python|^<string>")
FOLDER = re.compile(r".*[/\\]")
HEAD = re.compile(
    r"(?P<ranks>ranks? \d[\d,-]*) stands? here \(most recent call first\)|Thread (?P<thread>\w+) \((?:idle|active)(?:\+gil)?\): \"MainThread\"|(?P<last>(?:Current t|T)hread 0x\w+ \(most recent call first\))"
)

# kernel.yama.ptrace_scope from which on not even root may look at another process.
NOBODY = 3
FAULTHANDLER = Fix(
    "Without py-spy: let Python print it, here when the process has run for half an hour, and every half hour then",
    "import faulthandler\n\nfaulthandler.dump_traceback_later(1800, repeat=True)",
    Kind.EDIT,
)

SAID = {
    "setup": "the log ends in NCCL's setup: where nothing came for minutes, the ranks were not connected; else it was only cut off there",
    "begun": "the log ends where the ranks wait for each other",
    "ray": "the log ends while it waits for GPUs that Ray has not free",
    "bar": "the log ends before the first step: the bar stands at 0 %",
    "threads": "XLA waits where its devices meet, and not all of them come",
    "ended": "it was ended by Ctrl-C while it waited, and had printed no step",
    "still": "it <silent>: its ranks stood still",
    "silent": "it <silent>: it may have stood still",
}
"""By the group of a symptom: where the log stops."""
ONLY_ENDS = {
    "setup": Severity.NOTE,
    "begun": Severity.WARNING,
    "ray": Severity.WARNING,
    "bar": Severity.NOTE,
    "silent": Severity.WARNING,
}
"""Where nothing but the log's end shows it: whoever showed the beginning of a training cut it there himself."""

check = Check(
    severity=Severity.ERROR,
    otherwise="a note, where a log only ends in NCCL's setup or before the first step, or where a rank finds beforehand that py-spy could not look at a process that hangs; a warning, where a log only ends as the ranks wait, or where a command that was ended had long been silent and it is not known whether its ranks computed",
    secondary=True,
    follows=["collective-in-branch", "collective-mismatch", "keys-differ-by-rank", "rank-desync"],
    symptoms=[
        Symptom(r"Thread \w+ \((?:idle|active)(?:\+gil)?\): \"MainThread\"", near=WAITING),
        Symptom(r"^\W{0,3}Timeout \(\d+:\d\d:\d\d(?:\.\d+)?\)!", near=r"\(most recent call first\)"),
        r"^ranks? \d[\d,-]* stands? here \(most recent call first\):",
        Symptom(
            r"may be stuck\. (?P<threads>Expected \d+ threads to join the rendezvous)",
            unless=r"[Tt]hread is unstuck|false[- ]positive",
        ),
        # where a log ends: NCCL's setup, which says when it is complete
        Symptom(
            r"(?P<setup>NCCL INFO (?:Bootstrap ?: |NET/(?:IB|Socket|OFI) ?: |NET/Plugin ?: (?:No plugin|Could not|Using)|Using network |Trees? \[|cudaDriverVersion)|"
            r"NCCL INFO Channel \d|NCCL INFO comm 0x\w+ rank \d+ .{0,200}Init START|NCCL INFO Setting affinity|"
            r"NCCL INFO P2P Chunksize|NCCL INFO ncclCommInitRank comm)",
            # nccl-tests prints its own head above, and is pasted for that
            unless=rf"\bCOMPLETE\b|Init timings|NCCL WARN|Connected all|# nThread \d|{STEPS}",
            last=True,
        ),
        # what scripts and frameworks print before the ranks meet
        Symptom(
            r"(?P<begun>\| distributed init \(rank \d+\)|Initializing TorchBackend in DeepSpeed with backend|"
            r"> initializing torch distributed \.\.\.|vLLM is using nccl==|generating nccl id on rank|"
            r"\b(?<!out )[Ii]nitializing (?:the )?(?:default )?(?:process group|distributed (?:process|training|backend|environment)|NCCL)\b)"
            r"(?!.*(?:\b(?:done|took|finished|complete|success)|\d ?s$))",
            last=True,
        ),
        Symptom(
            r"\b(?<!out )(?P<begun>[Ww]aiting for (?:all |the |\d+ )*(?:other |remaining |more )?"
            r"(?:workers?|ranks?|process(?:es)?|nodes?|peers?|everyone|master|rank \d+))\b",
            last=True,
        ),
        # vLLM, and what is built on it
        Symptom(r"(?P<ray>Waiting for creating a placement group of specs) for", last=True),
        # a bar that has not moved
        Symptom(r"(?P<bar>\b0%\|.{0,80}\| *0/\d+ \[00:00<\?)", last=True),
        # somebody ended it while it waited, and it had printed no step
        Symptom(
            r"(?:^|\]: {1,2})\^?C?(?P<ended>KeyboardInterrupt) *$", near=rf"{WAITED}|{PRESSED}", unless=STEPS
        ),
        r"(?P<silent>had printed nothing for [\d,]+ s when it was ended)(?:, and (?P<still>stood still))?(?!: torchrun had started no rank)(?!, and)(?:: (?P<who>.+))?",  # gpudoctor run
        # somebody who asks for help says so
        Symptom(HANGS, asked=True),
        Symptom(
            r"^\W{0,6}(?P<said>[Ss]tuck|[Hh]angs|[Hh]anging|[Ff]reez(?:es|ed)|[Ff]rozen) "
            r"(?:here|there|forever|indefinitely|at|in|on|after|before|during|when|while)\b",
            asked=True,
        ),
        Symptom(
            r"\b(?:keeps?|stays?|waits?|waiting|remains?|runs?|loads?|same|like this) (?:\S+ ){0,4}(?P<said>for ?ever)\b",
            asked=True,
        ),
        Symptom(r"\b(?:just|simply|suddenly|always|often|sometimes) (?P<said>freeze|hang)\b", asked=True),
        Symptom(
            r"\b(?P<said>there (?:is no|was no|are no|were no) (?:more |further |new |other )?(?:logs?|outputs?|progress|messages?))\b",
            asked=True,
        ),
        Symptom(
            r"\b(?P<said>stop(?:s|ped)? (?:\w+ )?(?:at|in|on|after|before|here|there)\b.{0,60}\b(?:no|without(?: any)?) errors?)\b",
            asked=True,
        ),
        Symptom(r"\b[Nn]othing (?:more |else )?happen(?:s|ed)\b", asked=True),
        # Chinese: "stuck at", "does not move", "stops at", "no reaction"
        Symptom(
            r"(?P<chinese>\u5361(?:\u5728|\u4f4f|\u6b7b|\u7740)|[Hh]ang ?\u4f4f|\u4e0d\u52a8(?:\u4e86|\u5f39)|\u505c\u4f4f|\u5047\u6b7b|\u6ca1\u6709?(?:\u4efb\u4f55)?\u53cd\u5e94|\u65e0\u54cd\u5e94)",
            unless=r"\u89e3\u51b3\u4e86|\u4e0d\u4f1a\u5361|\u4e0d\u5361|\u663e\u5361\u5728",
            asked=True,
        ),
    ],
    fixes=[
        Fix(
            "See where every process of the training is, on each node, and again a minute later",
            "for pid in $(pgrep -f '[t]rain.py|spawn_main'); do py-spy dump --pid $pid; done",
        ),
        FAULTHANDLER,
        Fix(
            "Let a barrier name the rank that does not come, in front of what hangs",
            'group = dist.new_group(backend="gloo")\n'
            "dist.monitored_barrier(group, timeout=datetime.timedelta(minutes=5), wait_all_ranks=True)",
            Kind.EDIT,
        ),
        Fix(
            "Call every collective on all ranks; keep `if rank == 0:` for printing and saving",
            "dist.all_reduce(loss)\nif rank == 0:\n    print(loss.item())",
            Kind.EDIT,
            proof="dist.all_reduce(loss)\nif rank == 0:",
        ),
    ],
)


def somebody(sighting: Sighting) -> bool:
    """Return whether a line is what somebody writes of a program that stands still, and no program's own words."""
    line = QUOTED.sub("", sighting.line)
    if (sighting.where or "").endswith(":1"):
        line = TITLE.sub("", line)
    at = line.find(sighting.groups["said"])
    begin = line.rfind(". ", 0, max(at, 0)) + 1
    before = line[begin:at]
    sentence = line[begin:].partition(". ")[0]
    words = line.split()
    prose = sum(WORD.fullmatch(word) is not None for word in words) > 0.6 * len(words)
    return prose and not UNSURE.search(before[-28:]) and not PROGRAMS.search(sentence)


class Stand(Struct):
    """Where a process stands."""

    who: str
    call: str
    """The function, and the line of the script that called it."""
    waits: bool

    @property
    def said(self) -> str:
        """Say it in words."""
        verb = "waits in" if self.waits else "stands in" if "(" in self.call else "stands at"
        if self.who.startswith("ranks"):
            verb = verb.replace("s ", " ", 1)
        return f"{self.who} {verb} {self.call}"


@check.environment
def environment(launch: Launch, host: Host) -> Iterator[Finding]:
    """Nobody could see where this launch's ranks stand, should they hang."""
    if not host.ptrace_scope or (launch.number("WORLD_SIZE") or launch.slurm_tasks or 1) < 2:
        return
    if host.ptrace_scope < NOBODY and (host.capabilities is None or host.may("sys_ptrace")):
        return
    yield check.found(
        "should the ranks hang, py-spy may not look at them: kernel.yama.ptrace_scope is "
        f"{host.ptrace_scope}{', and this process has no right SYS_PTRACE' if host.ptrace_scope < NOBODY else ''}",
        severity=Severity.NOTE,
        fixes=[FAULTHANDLER],
    )


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Set the processes side by side: who waits, and who stands elsewhere; without them, say where it stopped."""
    name = next((name for name in SAID if name in sighting.groups), "")
    told = SAID.get(name, "").replace("<silent>", sighting.groups.get("silent", ""))
    if "who" in sighting.groups:
        told += f", {sighting.groups['who']}"
    if "said" in sighting.groups and not somebody(sighting):
        return
    if told or not HEAD.search(sighting.around):
        severity = ONLY_ENDS.get(name, Severity.ERROR)
        yield check.found(told or "somebody says that it stands still, and no error shows", severity=severity)
        return
    stands = list(standing(sighting.around.splitlines()))
    waiting = [stand for stand in stands if stand.waits]
    others = [stand for stand in stands if not stand.waits]
    if not stands:
        return
    said = ", ".join(stand.said for stand in [*waiting[:3], *others[:3]])
    if waiting and others:
        said += ": find out what keeps that one from coming"
    elif len({stand.call for stand in waiting}) > 1:
        said += ": the ranks take different ways"
    elif len(waiting) > 1:
        said += ": all that are shown wait, for one that is not shown or for the network"
    elif waiting:
        said += ", and another rank does not come: look where that one is"
    yield check.found(said)


def standing(lines: list[str]) -> Iterator[Stand]:
    """Yield where each process's main thread stands, by the frames below each heading."""
    for number, line in enumerate(lines):
        head = HEAD.search(line)
        if head is None:
            continue
        frames = [
            frame for frame in itertools.takewhile(bool, map(FRAME.match, lines[number + 1 :])) if frame
        ]
        # The main thread alone has a module's own code below; other threads begin in the threading module.
        if any(named(frame) == "<module>" for frame in frames):
            who = head["ranks"] or (f"process {head['thread']}" if head["thread"] else "a process")
            yield Stand(who, calling(frames), re.search(WAITING, frames[0][0]) is not None)


def calling(frames: list[re.Match[str]]) -> str:
    """Name the function of the first frame, and the line of the script from which it was reached."""
    scripts = [path(frame) for frame in frames if named(frame) == "<module>" and path(frame) != "<string>"]
    if scripts:
        own = next(frame for frame in frames if path(frame) == scripts[-1])
    else:  # spawned
        own = next((frame for frame in frames if not LIBRARY.search(path(frame))), frames[-1])
    place = f"{FOLDER.sub('', path(own))}:{own['line'] or own['at']}"
    name = named(frames[0]).rpartition(".")[2]
    name = "backward" if "backward" in name else name
    return place if name == "<module>" else f"{name} ({place})"


def named(frame: re.Match[str]) -> str:
    """Return a frame's function."""
    return frame["name"] or frame["of"]


def path(frame: re.Match[str]) -> str:
    """Return a frame's file."""
    return frame["path"] or frame["file"]
