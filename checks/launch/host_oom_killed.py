"""The host's memory ran out, and a process was killed or got none.

## What happens

A rank is gone without a traceback: torchrun says "exitcode : -9" and "Signal 9 (SIGKILL) received", a shell "Killed",
Slurm "Detected 1 oom_kill event", Kubernetes "OOMKilled" with exit code 137 (128 + 9). The other ranks report a lost
connection or time out. Where the allocation itself fails, it is `MemoryError` or "DefaultCPUAllocator: can't allocate".

## Why

The host's memory is meant, or the limit of the job or container; not the GPU's (`cuda-oom`).

- Every rank loads the whole checkpoint or data set: eight ranks need it eight times.
- DataLoader workers x ranks x prefetch_factor; the workers' copies of Python lists grow while they are read.
- Offloading (ZeRO, FSDP) and pinned memory; a small default of `--mem`; files in /dev/shm, which count as memory.

A bare `MemoryError` on a host with memory to spare is a limit on addresses: `ulimit -a` in the job, `resource-limit`.
SIGKILL without a word about memory can also be a scheduler, an administrator, or the launcher itself.

## How to tell

`sudo dmesg -T | grep -iE "oom|killed process"` on the node; `oom_kill` in `/sys/fs/cgroup/memory.events` in a
container; `sacct -j JOBID --format=JobID,State,MaxRSS,ReqMem`; `kubectl describe pod POD`.

## See also

- [sbatch --mem](https://slurm.schedmd.com/sbatch.html#OPT_mem): memory per node
- [DataLoader: multi-process loading](https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading): workers come to hold copies of the data set's objects
"""

import re
from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Evidence, Finding, Fix, Kind, Severity, Symptom, byte_size, count
from gpudoctor.facts import Host, KernelLog, Kubernetes, Launch
from gpudoctor.wordings import EXIT, EXIT_CODES, KILLED, SOMEBODY, SRUN_TASK, TIME_LIMIT_OVER, WORKER_EXITED

# With one of these the scheduler killed the job for another reason.
# timeout, told to send SIGKILL, ends in that way itself where its limit is over: bash names it
SCHEDULER = rf"DUE TO (?:TIME LIMIT|PREEMPTION|NODE FAILURE|JOB REQUEUE)|{TIME_LIMIT_OVER}"
# Slurm kills what does not end in time where a step is cancelled; a task that was killed before that is another matter.
CANCELLED = (
    r"\A(?:(?!: tasks? [\d,-]+: (?:Killed|Out Of Memory))[\s\S])*?\*\*\* (?:JOB|STEP) \S+ ON \S+ CANCELLED AT"
)
# a job script kills what it had started beside the training
HELPER = r"(?:sleep|tail|tensorboard|nvidia-smi|dcgmi|top|htop|vmstat|iostat|sar|dstat|watch|ssh|jupyter)\b"
# Slurm's count of the kernel's own
COUNTED = r"Detected \d+ oom[-_]kill event"
# torchrun kills what does not follow SIGTERM; the rank that failed first is then another one.
AGENT = rf"forcefully exiting via|Root Cause[\s\S]{{0,300}}?exitcode\s*: (?!-9\b|137\b)-?\d|{SCHEDULER}"
RANK = r"(?:rank\s*: (?P<rank>\d+)[^\n]{0,80}\n\W{0,80})?exitcode *: (?P<signal>-9|137) \(pid"
# in somebody's words
GROWS = (
    r"(?:CPU|[Hh]ost|[Ss]ystem|[Nn]ode) (?:RAM|memory) (?:usage |utili[sz]ation |consumption )?"
    r"(?:is full|runs out|ran out|fills up|grows|is (?:used up|exhausted)|was exhausted|(?:keeps|kept) (?:increasing|growing|rising|climbing))"
)
FULL = rf"(?:{GROWS}|killed (?:[\w-]+ ){{0,5}}(?:out[- ]of[- ]memory|OOM))"
# What a launcher killed itself stands beside another failure.
LIST = rf"{EXIT_CODES}(?:(?:\w+['\"]?: ?)?(?:0|-15)\b[, ]{{1,2}}){{0,64}}(?:\w+['\"]?: ?)?"
REST = r"(?:[, ]{1,2}(?:\w+['\"]?: ?)?(?:0|-15|-9|137)\b){0,64}[\])}]"
UNDER_SLURM = Fix(
    "Under Slurm: see how much it used and had, then ask for more (0 is all of the node's)",
    "sacct -j JOBID --format=JobID,State,MaxRSS,ReqMem; sbatch --mem=0 job.sh",
)
MAPPED = Fix(
    "Map the checkpoint instead of reading a copy into each rank",
    'state = torch.load("model.pt", map_location="cpu", mmap=True, weights_only=True)',
    Kind.EDIT,
)
FEWER_WORKERS = Fix(
    "Fewer workers per rank, and fewer batches waiting in each",
    "DataLoader(dataset, num_workers=2, prefetch_factor=1)",
    Kind.EDIT,
)
LOOK = Fix(
    "See whether the kernel killed it, on the node where it ran",
    'sudo dmesg -T | grep -iE "oom|killed process"',
    Kind.ADMIN,
)
LIMIT = Fix(
    "Where the host has memory left (<refused>): see whether a limit on addresses (virtual memory) is set in the job",
    "ulimit -a",
)
IN_POD = Fix(
    "Raise the pod's limit: resources.limits.memory in its specification",
    "kubectl explain pod.spec.containers.resources",
)
POD_LAST_WORDS = Fix("See what Kubernetes says of its end, and of the node's", "kubectl describe pod POD")
IN_DOCKER = Fix(
    "In docker: raise the container's limit",
    "docker run --memory=64g --memory-swap=64g IMAGE",
    Kind.ADMIN,
)

check = Check(
    severity=Severity.ERROR,
    background=True,
    otherwise="a warning in facts, a note for what is more than an hour ago or no process of a training",
    symptoms=[
        # Slurm
        rf"(?P<words>{COUNTED}(?:\(s\)|s)?)",
        rf"{SRUN_TASK}(?P<words>Out Of Memory)",
        r"(?P<words>exceeded (?:virtual )?memory limit \(\d+ > \d+\), being killed)",
        r"(?P<words>Exceeded (?:job|step) memory limit)",
        r"(?<!\w)(?P<words>OUT_OF_ME(?:MORY|\+)) +\d+:\d+",
        r"\bJobState=(?P<words>OUT_OF_MEMORY)\b",
        # the kernel and systemd
        r"(?P<words>[Oo]ut of memory): Kill(?:ed)? process (?P<pid>\d+) \((?P<process>[^)]+)\)",
        r"(?P<words>oom-kill:constraint=\w+).{0,400}?task=(?P<process>[^,]+),pid=(?P<pid>\d+)",
        r"(?P<process>[\w.:/-]{1,64}) (?P<words>invoked oom-killer)",
        # what somebody quotes of it
        Symptom(
            r"(?P<words>[Mm]emory cgroup out of memory)(?!: [Kk]ill)",
            unless=r"\b(?:\w{2,5}n't|not|no) [Mm]emory cgroup",
        ),
        r"(?P<words>oom_reaper: reaped) process (?P<pid>\d+) \((?P<process>[^)]+)\)",
        r"(?P<words>killed by the OOM killer|Failed with result 'oom-kill')",
        r"(?P<words>[Kk]illed .{0,120}due to memory pressure)",
        # containers, other schedulers, Ray
        r"\b(?P<words>OOMKill(?:ed|ing))\b(?!['\"]?[:=] ?[Ff]alse)",
        r"(?P<words>[Tt]he node was low on resource: memory)",
        r"(?P<words>TERM_MEMLIMIT: job killed)",
        r"(?P<words>PBS: job killed: \w*mem \S+ exceeded limit)",
        r"(?P<words>Job has gone over memory limit)",
        r"(?P<words>Container killed due to memory usage)",
        r"(?P<words>killed due to the node running low on memory)",
        r"how to address the (?P<words>out of memory issue): https://docs\.ray\.io",
        r"(?P<words>More than \d+% of the memory on node)",  # Ray until 1.x
        r"(?P<words>exceeds the memory usage threshold) of [\d.]+\. Ray killed this worker",
        # SIGKILL, and nobody says why
        Symptom(r"\bexitcode *: (?P<signal>-9|137) \(pid: \d+\)", near=RANK, unless=AGENT),
        Symptom(r"(?P<signal>Signal 9) \(SIGKILL\) received by PID", unless=AGENT),
        Symptom(r"failed \(exitcode: (?P<signal>-9|137)\) local_rank: (?P<local_rank>\d+)", unless=SCHEDULER),
        Symptom(r"\breturn ?code(?: ?=|:| of)? ?(?P<signal>-9|137)\b", unless=SCHEDULER),
        Symptom(
            r"[Ff]ailed ?(?:with )?\(?exit ?code:? ?(?P<signal>-9|137)\b(?!\) local_rank)", unless=SCHEDULER
        ),
        Symptom(r"process (?P<rank>\d+) terminated with signal (?P<signal>SIGKILL)", unless=SCHEDULER),
        Symptom(r"died with <Signals\.(?P<signal>SIGKILL)", unless=SCHEDULER),
        Symptom(r"returned non-zero exit status (?P<signal>-9|137)\b", unless=SCHEDULER),
        Symptom(r"Child process with PID \d+ terminated with code (?P<signal>-9)\b", unless=SCHEDULER),
        Symptom(r"exited on signal (?P<signal>9) \(Killed\)", unless=SCHEDULER),
        Symptom(r"EXIT STRING: Killed \((?P<signal>signal 9)\)", unless=SCHEDULER),
        Symptom(r"= +EXIT CODE: (?P<signal>9)\b", unless=SCHEDULER),
        Symptom(rf"{SRUN_TASK}(?P<signal>Killed)", unless=rf"{SCHEDULER}|{CANCELLED}"),
        Symptom(rf"{WORKER_EXITED}(?P<signal>-9|137)\b", unless=SCHEDULER),
        Symptom(rf"{LIST}(?P<signal>-9|137){REST}", unless=SCHEDULER),
        Symptom(rf"(?:{SRUN_TASK}\w+ with )?{EXIT}(?P<signal>137)\b", unless=SCHEDULER),
        Symptom(r"^ {0,8}(?P<signal>Killed) *$", unless=rf"{SCHEDULER}|{COUNTED}"),
        Symptom(rf"^ {{0,8}}(?P<signal>{KILLED}) *$", unless=rf"{SCHEDULER}|{COUNTED}"),
        # written over the beginning of a counter's line, which was longer
        Symptom(r"^(?P<signal>Killed)(?=[a-z\d%|=])(?!ed|ing)", unless=SCHEDULER),
        # somebody's words
        Symptom(
            r"(?P<signal>SIGKILL|[Ss]ignal 9|[Ee]xit ?code:? (?:-9|137))\b",
            near=rf"(?m:{SOMEBODY}(?:SIGKILL|[Ss]ignal 9|[Ee]xit ?code:? (?:-9|137))\b)",
            asked=True,
        ),
        Symptom(rf"(?P<words>{FULL})\b", near=rf"(?m:{SOMEBODY}{FULL}\b)", asked=True),
        Symptom(
            rf"(?P<words>{GROWS})\b[^\n={{}}<>|]{{1,80}}\b(?:OOM|out[- ]of[- ]memory|killed)\b(?! killer)",
            asked=True,
        ),
        Symptom(r"^[^=(){}<>]*[`\"'](?P<signal>[Kk]illed)[`\"'][^=(){}<>]*$", asked=True),
        Symptom(rf": line \d+: +\d+ (?P<signal>Killed)\b(?! +{HELPER})", unless=rf"{SCHEDULER}|{COUNTED}"),
        Symptom(r"\[\d+\] [ +-]{1,8}\d+ (?P<signal>killed) +\S", unless=SCHEDULER),  # zsh
        # refused
        r"DefaultCPUAllocator: (?:can't allocate memory|not enough memory): you tried to allocate (?P<size>\d+ ?\w*)",
        r"Torch: not enough memory: you tried to allocate (?P<size>\w+)",
        r"Unable to allocate (?P<size>[\d.]+ \w+) for an array with shape",
        r"(?P<refused>OSError: \[Errno 12\] Cannot allocate memory)",
        r"(?P<refused>OSError: \[WinError (?:8|14)\])",
        # c10d takes what is no answer of its store for the length of one
        Symptom(
            r"\b(?P<refused>MemoryError|std::bad_alloc)\b'?:? *$",
            unless=r"in _call_store\b|TCPStore\(|getattr\(self\._store, store_op\)",
        ),
        Symptom(r"^zsh: (?P<signal>killed) {2}", unless=SCHEDULER),
        r"(?P<words>[Yy]our session crashed after using all available RAM)",  # Colab
        r"(?P<words>[Yy]our notebook tried to allocate more memory than is available)",  # Kaggle
        Symptom(
            r"\b(?:is|was|are|gets?|got|getting|been|being|be) (?:\w+ ){0,2}(?P<signal>[Kk]illed)\b(?! by (?:me|us|signal|hand|slurm|Slurm|the (?:user|scheduler)))",
            near=rf"(?m:{SOMEBODY}[Kk]illed\b)",
            unless=rf"{SCHEDULER}|[Tt]ime ?limit|[Ww]all ?time|preempt|[Ss]cheduler|[Dd]ata ?[Ll]oader|[Ww]atchdog|\bNCCL\b|[Ww]orker",
            asked=True,
        ),
        # Chinese: "memory is not enough", "memory overflows"; of the GPU it is another word
        Symptom(
            r"(?P<words>(?<!\u663e)(?:\u5185\u5b58|\u5167\u5b58)(?:\u4e0d\u8db3|\u6ea2\u51fa|\u4e0d\u591f|\u7206\u4e86?|\u8017\u5c3d)|\u7206\u5185\u5b58)",
            unless=r"\u663e\u5b58|[Cc][Uu][Dd][Aa] out of memory",
            asked=True,
        ),
    ],
    message="a process[ (<process>)][ of rank <rank>][ of local rank <local_rank>][ on <host>][ was killed because the host's memory ran out: <words>][ was killed (<signal>) without a reason, which mostly means that the host's memory ran out: confirm it][ asked for <size> of the host's memory and did not get it][ got no more of the host's memory: <refused>]",
    fixes=[
        UNDER_SLURM,
        LIMIT,
        MAPPED,
        FEWER_WORKERS,
        LOOK,
        IN_DOCKER,
    ],
)


# Processes of a training, as the kernel names them.
TRAINING = re.compile(r"python[\d.]*|pt_\w+|torchrun|ray::|accelerate|deepspeed|\Z")
HOUR = 3600
# The source of a kernel log that somebody sent: what it tells of was worth telling.
PASTED = "the text"


@check.environment
def environment(
    host: Host | None, kernel_log: KernelLog | None, launch: Launch | None, kubernetes: Kubernetes | None
) -> Iterator[Finding]:
    """The kernel killed something in this control group, or a Python process on this machine, or a pod's container."""
    for name in kubernetes.oom_killed if kubernetes is not None else []:
        message = f"Kubernetes says OOMKilled of the container{f' {name}' if name else ''}: it reached the pod's limit on memory, or the node's memory ran out"
        yield check.found(message, severity=Severity.WARNING, fixes=[MAPPED, FEWER_WORKERS, IN_POD])
        return
    for name, runs in kubernetes.sigkilled.items() if kubernetes is not None else ():
        message = (
            f"the container{f' {name}' if name else ''} ended with exit code 137, by SIGKILL: a process in it, or all of it, "
            "was killed, and memory is the usual reason; a probe that failed and a pod that was deleted end so too"
        )
        severity = Severity.NOTE if runs else Severity.WARNING
        yield check.found(message, severity=severity, fixes=[POD_LAST_WORDS, LOOK, MAPPED, FEWER_WORKERS])
        return
    group = host.cgroup if host else None
    if (group is None or group.oom_kills is None) and kernel_log is None:
        raise CannotTell("neither the control group's counters nor the kernel log could be read")
    if group is not None and group.oom_kills:
        limit = f", which may use {byte_size(group.memory_max_bytes)}" if group.memory_max_bytes else ""
        message = (
            f"the kernel killed {count(group.oom_kills, 'process', 'processes')} of this container or job{limit}, "
            "because its memory was used up: a rank or a data loader worker ends so without a word"
        )
        yield check.found(message, severity=Severity.WARNING, fixes=_fixes(host, launch))
        return
    kills = kernel_log.of("oom-kill") if kernel_log else []
    ours = [event for event in kills if TRAINING.match(event.process)]
    if kills and not ours and kernel_log is not None and kernel_log.source == PASTED:
        message = (
            f"the kernel killed {kills[0].process} because memory ran out; that is no process of a training"
        )
        evidence = [Evidence(kills[0].text, kernel_log.source)]
        yield check.found(message, severity=Severity.NOTE, evidence=evidence, fixes=[LOOK])
    for event in ours:
        age = _age(event.seconds, host)
        when = f", {age / 3600:.0f} h ago" if age is not None and age >= 3600 else ""
        who = event.process or "a process"
        limited = re.search(r"CONSTRAINT_MEMCG|[Mm]emory cgroup out of memory", event.text)
        why = (
            "its control group (a job's or a container's) was at its limit on memory"
            if limited
            else "memory ran out"
        )
        message = (
            f"the kernel killed {who} because {why}{when}: the next training that needs as much ends so too"
        )
        recent = age is None or age < HOUR
        yield check.found(
            message,
            severity=Severity.WARNING if recent else Severity.NOTE,
            evidence=[Evidence(event.text, kernel_log.source if kernel_log else None)],
            fixes=_fixes(host, launch),
        )
        return


def _age(seconds: float | None, host: Host | None) -> float | None:
    if seconds is None or host is None or host.uptime_seconds is None:
        return None
    return max(host.uptime_seconds - seconds, 0.0)


def _fixes(host: Host | None, launch: Launch | None) -> list[Fix]:
    """Return the fixes for where this runs: Slurm's own, a container's, those of the script."""
    job = launch is not None and "SLURM_JOB_ID" in launch.variables
    contained = host is not None and host.container in ("docker", "podman")
    return [*([UNDER_SLURM] if job else []), MAPPED, FEWER_WORKERS, *([IN_DOCKER] if contained else []), LOOK]
