"""A limit on address space, file size or CPU time ends the training.

## What happens

| limit | what comes of it |
| --- | --- |
| `ulimit -v`, `ulimit -d` (kB of address space, of data) | "can't allocate memory: you tried to allocate", "MemoryError", "libtorch_cpu.so: failed to map segment from shared object" (older systems add "Cannot allocate memory"), "OpenBLAS error: Memory allocation still failed", CUDA that does not start |
| `ulimit -f` (kB of a file) | `torch.save` ends in "unexpected pos 704 vs 598", other writers in "[Errno 27] File too large", what is no Python in "File size limit exceeded", exit code -25 (153) |
| `vm.max_map_count` (mappings of a process, 65530) | "unable to mmap 4 bytes from file </torch_1_2_3>: Cannot allocate memory (12)", where many tensors are shared |
| `ulimit -t` (seconds of CPU time) | the process is killed without a word, exit code -9 or -24 (137, 152), in a shell "CPU time limit exceeded" |

## Why

Nothing sets these limits by itself. A scheduler turns a job's request into one (Grid Engine's `h_vmem` is the address
space, `h_fsize` the size of a file, `h_cpu` the time), a login node keeps long programs off, or a line is in a profile or in
limits.conf.

`import torch` alone takes some 3 GiB of address space, of which little is memory. With GPUs it is far more: CUDA has one
address space for the memory of the host and of all GPUs. So a limit that would do for memory does not do for addresses.

## How to tell

For "unable to mmap", count a rank's mappings while it runs, `wc -l /proc/PID/maps`, beside `sysctl vm.max_map_count`.
Else `ulimit -a`, in the job itself: a batch job may have other limits than the login shell. `cat /proc/PID/limits` of a rank.

## See also

- [max_map_count](https://docs.kernel.org/admin-guide/sysctl/vm.html#max-map-count): how many mappings a process may have
- [getrlimit(2)](https://man7.org/linux/man-pages/man2/getrlimit.2.html): RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_CPU
- [CUDA: unified addressing](https://docs.nvidia.com/cuda/cuda-driver-api/cuda_driver_api/group__CUDA__UNIFIED.html): one address space for the host and the GPUs
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, Symptom, byte_size
from gpudoctor.facts import Gpus, Host

GIB = 1 << 30
# `import torch` (2.15, CUDA 13.2, no GPU) had a VmPeak of 3.0 GiB; with a model, workers' threads and libraries it grows.
TORCH_ALONE = 8 * GIB
HOURS = 3600
# SIGXFSZ and SIGXCPU, or 128 more of a shell in between
CODE = r"(?:(?P<size>-25|153)|(?P<time>-24|152))\b"
RAISE = Fix(
    "Take the limits away, as far as you may",
    "ulimit -v $(ulimit -Hv); ulimit -d $(ulimit -Hd); ulimit -f $(ulimit -Hf); ulimit -t $(ulimit -Ht)",
    proof="ulimit -f $(ulimit -Hf)",
)
SEE = Fix("See the limits that the job itself has", "ulimit -a; ulimit -Ha")
LIMITS = Fix(
    "Raise what limits.conf or the scheduler's queue sets for the user",
    "grep -r . /etc/security/limits.conf /etc/security/limits.d",
    Kind.ADMIN,
)
MAPPINGS = Fix(
    "Or let a process have more mappings, of <mapped> or more each",
    "sudo sysctl -w vm.max_map_count=262144",
    Kind.ADMIN,
)
SHARED = Fix(
    "Where a process shares many tensors (at <mapped> the kernel said no): let the data set return one tensor for all of them"
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning in facts, where torch alone does not need more",
    symptoms=[
        # a shell, of SIGXFSZ and SIGXCPU: bash, dash, zsh, csh
        r"\b(?P<size>[Ff]ile ?size limit exceeded)",
        r"\b(?P<time>(?:CPU time|[Cc]putime|cpu) limit exceeded)",
        r"(?P<size>\[Errno 27\] File too large|\(os error 27\)|\bEFBIG\b|File too large \(27\)|: File too large *$)",
        # a launcher, of the same signals
        r"(?P<size>\bSIGXFSZ\b)|(?P<time>\bSIGXCPU\b)",
        rf"\bexitcode *: {CODE} \(pid: \d+\)",
        rf"failed \(exitcode: {CODE}\) local_rank: \d",
        rf"\b(?:return code = |returned non-zero exit status |[Ee]xit code:? ){CODE}",
        # the loader's own word for address space, with its reason until glibc 2.3x; of a folder that is mounted noexec it
        # says the same without a reason, and names the file by its whole path, since none before it could be loaded either
        r"failed to map segment from shared object: (?P<addresses>Cannot allocate memory)",
        r"(?:ImportError|OSError): lib[\w.+-]{1,80}: (?P<addresses>failed to map segment from shared object) *$",
        r"OpenBLAS error: (?P<addresses>Memory allocation still failed)",
        # the size is no matter: each tensor that is shared is a mapping of its own
        r"unable to mmap (?P<mapped>\d+ bytes) from file </torch_\w+>: (?P<addresses>Cannot allocate memory)",
        Symptom(r"^ {0,8}(?P<addresses>virtual memory exhausted): Cannot allocate memory"),
    ],
    message="[a file became larger than the limit allows: <size>][the process used up the CPU time that it is allowed: <time>][the process may have no more addresses: <addresses>]",
    fixes=[SHARED, MAPPINGS, RAISE, SEE, LIMITS],
)


@check.environment
def environment(host: Host, gpus: Gpus | None) -> Iterator[Finding]:
    """A limit is set that ends a training, or keeps it from starting."""
    if not host.limits:
        raise CannotTell("the limits of this process are not known")
    for name, option, what in (("as", "-v", "of address space"), ("data", "-d", "of data")):
        limit = host.limits.get(name)
        if limit is None or limit.soft is None:
            continue
        need, whose = _addresses(host, gpus)
        if limit.soft >= need:
            continue
        message = f"a process may have {byte_size(limit.soft)} {what} (ulimit {option}), and {whose}"
        few = limit.soft < TORCH_ALONE
        yield check.found(message, severity=Severity.ERROR if few else Severity.WARNING)
    size = host.limits.get("fsize")
    if size is not None and size.soft is not None:
        message = (
            f"a process may write {byte_size(size.soft)} into a file (ulimit -f): a checkpoint that is larger is cut off, "
            'and torch.save ends in "unexpected pos" or "File too large"'
        )
        yield check.found(message, severity=Severity.WARNING)
    time = host.limits.get("cpu")
    if time is not None and time.soft is not None:
        shown = f"{time.soft / HOURS:.1f} hours" if time.soft >= HOURS else f"{time.soft} seconds"
        message = (
            f"a process may use {shown} of CPU time, that of its threads together (ulimit -t): then the kernel kills it "
            "without a word"
        )
        yield check.found(message, severity=Severity.WARNING)


def _addresses(host: Host, gpus: Gpus | None) -> tuple[int, str]:
    """Return how many addresses a training takes, and of what, in the second half of a sentence."""
    devices = gpus.devices if gpus else []
    memory = sum(gpu.memory_bytes or 0 for gpu in devices)
    if not memory:
        return (
            TORCH_ALONE,
            "`import torch` alone takes 3 GiB of addresses: allocations fail that memory has room for",
        )
    both = memory + (host.memory_bytes or 0)
    return both, (
        f"CUDA has one address space for the memory of the host and of all GPUs, {byte_size(both)} here: it may not start"
    )
