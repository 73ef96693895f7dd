"""A worker crashed in native code.

## What happens

torchrun says "exitcode : -11" and "Signal 11 (SIGSEGV) received", a shell "Segmentation fault (core dumped)",
faulthandler "Fatal Python error: Segmentation fault". There is no Python traceback: the crash is outside of Python.

## Why

- -11 (139 from a shell), SIGSEGV: an extension built for another torch or CUDA (flash-attn, apex, a DeepSpeed op), two
  copies of one library (OpenMP, CUDA, NCCL), an NCCL plug-in, conda and pip mixed, rarely bad memory.
- -6 (134), SIGABRT: a library gave up on purpose, mostly after an error just above: NCCL's watchdog, a CUDA
  error, "terminate called". That one is the cause.
- "terminate called without an active exception" when all the work is done: Python ended while a thread of gloo still ran. The
  results are whole; the exit code is not. With torch 2.15 it happens now and then, mostly without `destroy_process_group`,
  rarely with it while the wrapped model still holds the group.
- -7 (135), SIGBUS: /dev/shm is full (`shm-too-small`), or a file that is mapped got shorter.
- -4 (132), SIGILL: a binary for a newer CPU. -8 (136), SIGFPE: an integer divided by zero.

## How to tell

Start once more with `PYTHONFAULTHANDLER=1`: it prints the Python line of each thread. `dmesg -T | grep segfault` names
the library that it happened in, `coredumpctl debug` shows its stack.

## See also

- [faulthandler](https://docs.python.org/3/library/faulthandler.html): `python -X faulthandler` prints where each thread was
- [pytorch#190489](https://github.com/pytorch/pytorch/issues/190489): terminate called without an active exception, over gloo
- [DeepSpeed#3989](https://github.com/deepspeedai/DeepSpeed/issues/3989): return code -11
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Evidence, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import Host, KernelLog
from gpudoctor.wordings import EXIT, EXIT_CODES, SEGMENTATION_FAULT, SOMEBODY, SRUN_TASK, WORKER_EXITED

CODE = r"(?P<code>-(?:4|6|7|8|11)|13[2456]|139)\b"
RANK = rf"(?:rank\s*: (?P<rank>\d+)[^\n]{{0,80}}\n\W{{0,80}})?exitcode *: {CODE} \(pid"
SIGNAL = r"(?P<signal>SIG(?:SEGV|ABRT|BUS|ILL|FPE))"
# Windows's for an illegal instruction, a full stack, a broken heap, an abort
# https://learn.microsoft.com/en-us/openspecs/windows_protocols/ms-erref/596a1078-e883-4972-9bbc-49e60bebca55
WINDOWS = r"-1073741795|3221225501|0xC000001D|-1073741571|3221225725|0xC00000FD|-1073740940|3221226356|0xC0000374|-1073740791|3221226505|0xC0000409"
WORDS = r"(?P<signal>[Ss]egmentation fault|Aborted|Illegal instruction|Floating point exception)"

CORE = Fix(
    "Let the next crash leave a core file, in the shell that starts the training: gdb shows where it was",
    "ulimit -c unlimited",
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a note in the kernel log: it is over, and may have been anybody's",
    secondary=True,
    symptoms=[
        Symptom(rf"\bexitcode *: {CODE} \(pid: \d+\)(?: +\((?P<signal>SIG\w+)\))?", near=RANK),
        rf"Signal (?:4|6|7|8|11) \({SIGNAL}\) received by PID",
        rf"failed \(exitcode: {CODE}\) local_rank: (?P<local_rank>\d+)",
        rf"\breturn ?code(?: ?=|:| of)? ?{CODE}",
        rf"{WORKER_EXITED}{CODE}",
        rf"{EXIT_CODES}[^\n]{{0,200}}?(?<![\w-]){CODE}(?!['\"]?:)",
        rf"process (?P<rank>\d+) terminated with signal {SIGNAL}",
        rf"<Signals\.{SIGNAL}: \d",
        rf"returned non-zero exit status {CODE}",
        rf"Child process with PID \d+ terminated with code {CODE}",
        rf"Child process unexpectedly failed with exitcode={CODE}",
        rf"(?:{SRUN_TASK}\w+ with )?{EXIT}{CODE}",
        rf"{EXIT}(?P<code>-1073741819|3221225477|0xC0000005|{WINDOWS})",
        r"exited on signal (?:4|6|7|8|11) \((?P<signal>[^)]+)\)",
        rf"{SRUN_TASK}(?P<signal>Segmentation fault|Aborted|Illegal instruction|Floating point exception|Bus error(?! ?\(core))",
        rf"\b{WORDS}(?: error)? {{0,8}}\(core dumped\)",
        rf"(?P<signal>{SEGMENTATION_FAULT})",
        rf"(?:^|: line \d+: +\d+) {{0,8}}{WORDS}(?: *$| {{2}})",
        Symptom(
            r"^# .{0,80}?(?P<signal>[Ss]eg(?:mentation )?[Ff]ault|[Cc]ore dump(?:ed|s)?)\b(?!.{0,40}\bfix)",
            asked=True,
        ),  # a title
        Symptom(
            r"(?P<signal>[Ss]eg(?:mentation )?[Ff]aults?|SIGSEGV)\b",
            near=rf"(?m:{SOMEBODY}(?:[Ss]eg(?:mentation )?[Ff]aults?|SIGSEGV)\b)",
            asked=True,
        ),
        r"\[\d+\] [ +-]{1,8}\d+ (?P<signal>segmentation fault|abort|illegal hardware instruction) +\S",  # zsh
        r"(?P<signal>Windows fatal exception): (?:access violation|stack overflow|int divide by zero|code 0x[0-9a-fA-F]{8})",
        r"(?P<signal>Unhandled exception) caught in c10[/\\]util[/\\]AbortHandler",
        r"APPLICATION TERMINATED WITH THE EXIT STRING: (?P<signal>Segmentation fault|Aborted|Bus error|Illegal instruction|Floating point exception)",
        rf"= +EXIT CODE: (?:{CODE}|(?P<number>11)\b)",  # MPICH and Intel MPI
        r"Fatal Python error: (?P<signal>Segmentation fault|Aborted|Bus error|Illegal instruction|Floating[- ]point exception)",
        r"!!!!!!! (?P<signal>Segfault) encountered !!!!!!!",
        rf"\*\*\* {SIGNAL} (?:received at|\(@)",
        rf"\breceived signal {SIGNAL}, ",  # gdb
        r"\b(?P<signal>Bus error): nonexistent physical address",  # UCX's words, retold
        r"Caught signal (?:4|6|7|8|11) \((?P<signal>[^:)]+)",
        # of what UCX and Python's fault handler write below the word of a signal, where that was cut off
        r"==== backtrace \(tid: *\d+\) ====",
        r"^Extension modules: [\w.]+(?:, |\s\(total: \d)",
        r", [\w.]*\._\w+ \(total: \d+\) *$",
        r"Signal: (?P<signal>Segmentation fault|Aborted|Bus error|Illegal instruction) \(\d+\)",
        r"\[\d+\]: (?P<signal>segfault) at \S+ ip \S+ sp \S+ error \w+(?: in (?P<library>[^\s\[]+))?",
        r"traps: \S+\[\d+\] (?P<signal>general protection|trap invalid opcode|trap divide error)",
        # what() on the next line names the reason, and another failure knows it, or it stands for itself
        Symptom(
            r"(?P<signal>terminate called (?:without an active(?: exception\b)?|after throwing an instance of\b))",
            # a DataLoader's worker that its iterator ends: the process goes on
            unless=r"what\(\):|std::bad_alloc|Exception ignored in: <function _MultiProcessingDataLoaderIter\.__del__",
        ),
        r"(?P<signal>double free or corruption|(?:free|munmap_chunk)\(\): invalid|(?:malloc|malloc_consolidate|realloc|calloc|tcache_thread_shutdown)\(\): \w+|corrupted (?:size vs\. prev_size|double-linked list)|buffer overflow detected|stack smashing detected|pure virtual method called)",
        r"^zsh: (?P<signal>segmentation fault|abort|illegal hardware instruction|bus error|floating point exception|trace trap)(?: {2}|\W{0,3}$| \(core)",
        r"\bstatus code (?:of |is |= ?)?(?P<code>3221225477|-1073741819|0xC0000005)",
    ],
    message="a worker[ (rank <rank>)][ (local rank <local_rank>)][ on <host>] crashed in native code[: <signal>][, exit code <code>][, in <library>]",
    fixes=[
        Fix(
            "Have the Python line of each thread printed",
            "PYTHONFAULTHANDLER=1 torchrun --log-dir=logs --tee=3 --nproc-per-node=N train.py",
        ),
        Fix(
            "Build the extension that the stack names once more, for this torch",
            "python -m pip install --force-reinstall --no-build-isolation --no-deps --no-cache-dir PACKAGE",
        ),
        Fix(
            "See whether other copies of libraries are at fault",
            "env -u LD_LIBRARY_PATH -u LD_PRELOAD torchrun --standalone --nproc-per-node=N train.py",
        ),
        Fix(
            "See in which library it happened, or ask the administrators for that line",
            "sudo dmesg -T | grep -E 'segfault|traps:'",
            Kind.ADMIN,
        ),
        Fix(
            "Where it only happens at the end, over gloo: let the model and the group go before Python ends",
            "del model\ngc.collect()\ndist.destroy_process_group()",
            Kind.EDIT,
            source="https://docs.pytorch.org/docs/stable/distributed.html#shutdown",
        ),
    ],
)

# What trains, and what it sends over: the driver's, CUDA's, NCCL's and its adapters', torch's own.
GPU_LIBRARY = re.compile(
    r" in (lib(?:nccl|cuda|cudart|cudnn|cublas|cusparse|cusolver|cufft|nvrtc|nvidia|nvshmem|torch|c10|ucp|uct|ucs|mlx5"
    r"|ibverbs|fabric)[\w-]*)[\w.-]*\.so"
)


@check.environment
def environment(log: KernelLog, host: Host | None) -> Iterator[Finding]:
    """The kernel log has a crash inside a library that trains."""
    lost = host is not None and _keeps_no_core(host)
    for event in log.of("segfault"):
        library = GPU_LIBRARY.search(event.text)
        if library is None:
            continue
        times = f", {event.count} times" if event.count > 1 else ""
        message = f"a process ({event.process}) crashed inside {library[1]}{times}: its job ended without a Python error"
        if lost:
            message += (
                "; the limit for core dumps is 0 here, so the next crash will not leave its stack either"
            )
        # It is over, and may have been anybody's: whether this machine is at fault does not show here.
        fixes = [CORE, *check.fixes] if lost else None
        yield check.found(
            message, severity=Severity.NOTE, evidence=[Evidence(event.text, log.source)], fixes=fixes
        )


def _keeps_no_core(host: Host) -> bool:
    """Return whether a crash here leaves no file; where a program takes it, that limit is not asked (core(5))."""
    limit = host.limits.get("core")
    return limit is not None and limit.soft == 0 and not host.core_pattern.startswith("|")
