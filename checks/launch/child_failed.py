"""A worker ended with an error of its own, and the launcher says only that.

## What happens

torchrun prints `ChildFailedError` with "Root Cause (first observed failure)", a rank and an exit code, and "traceback :
To enable traceback see: …". Older launchers, accelerate and DeepSpeed say "returned non-zero exit status 1" or "exits
with return code = 1"; Slurm says "task 1: Exited with exit code 1".

## Why

The launcher sees exit codes alone. What went wrong stands in the worker's own output: further up, in another file of
`--log-dir`, on another node, or nowhere, when the worker called `sys.exit(N)` itself.

## How to tell

Search the whole output of the rank that is named first for `Traceback` and `Error`. The exit code says whether the
worker raised (1), was told to end (-15), was killed (-9: `host-oom-killed`), or crashed (-6, -7, -11: `child-segfault`).

## See also

- [Error propagation](https://docs.pytorch.org/docs/stable/elastic/errors.html): the `record` decorator
- [torchrun](https://docs.pytorch.org/docs/stable/elastic/run.html): `--log-dir`, `--tee`, `--redirects`
"""

from gpudoctor import Check, Fix, Kind, Severity, Symptom

# A few lines below its headline, torchrun's summary names the rank that failed first. Exit codes below zero, but for
# -15, are other failures: host-oom-killed and child-segfault.
ROOT = r"Root Cause[\s\S]{0,300}?rank\s*: (?P<rank>\d+)[\s\S]{0,80}?exitcode\s*: (?P<code>-15|\d+)"
CODE = r"(?P<code>-15|\d+)"

check = Check(
    severity=Severity.ERROR,
    secondary=True,
    symptoms=[
        Symptom(r"\bChildFailedError:? *$", near=ROOT),
        Symptom(r"\bChildFailedError:? *$", unless=r"exitcode\s*: -?\d"),
        rf"failed \(exitcode: {CODE}\) local_rank: (?P<rank>\d+) \(pid: \d+\) of (binary|fn)",
        rf"CalledProcessError: Command .*returned non-zero exit status {CODE}",
        rf"exits with return code = {CODE}\b",
        rf"srun: error: (?P<host>[\w.-]+): tasks? (?P<rank>\d+)[\d,-]*: Exited with exit code {CODE}",
        rf"process (?P<rank>\d+) terminated with exit code {CODE}\b",
        r"Primary job +terminated normally, but \d+ process",
        rf"Child process with PID \d+ terminated with code {CODE}\.",
    ],
    message="a worker[ (rank <rank>)][ on <host>] ended with exit code <code>; what it died of is not in the launcher's words",
    fixes=[
        Fix(
            "Keep every worker's output, in a file for each and on the terminal",
            "torchrun --log-dir=logs --redirects=0 --tee=3 --nproc-per-node=gpu train.py",
        ),
        Fix(
            "Let the worker hand its exception to torchrun's summary",
            "from torch.distributed.elastic.multiprocessing.errors import record\n\n\n@record\ndef main(): ...",
            Kind.EDIT,
        ),
        Fix(
            "Under Slurm: see what became of each task, then read its file",
            "sacct --format=JobID,State,ExitCode,NodeList -j JOBID",
        ),
    ],
)
