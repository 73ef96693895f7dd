"""A worker ended with an error of its own, and the launcher says only that.

## What happens

torchrun prints `ChildFailedError` with "Root Cause (first observed failure)", a rank and an exit code, and "traceback :
To enable traceback see: …". Older launchers, accelerate and DeepSpeed say "returned non-zero exit status 1" or "exits
with return code = 1"; Slurm says "task 1: Exited with exit code 1".

## Why

The launcher sees exit codes alone. What went wrong is in the worker's own output: further up, in another file of
`--log-dir`, on another node, or nowhere, when the worker called `sys.exit(N)` itself or swallowed the exception.

## How to tell

Search the whole output of the rank that is named first for `Traceback` and `Error`. The exit code says whether the
worker raised (1), did not know an option (2), was told to end (-15), was killed (-9: `host-oom-killed`), crashed
(-6, -7, -11: `child-segfault`), or came to a limit (-24, -25: `resource-limit`). Any other -N is the signal N:
-14 is SIGALRM, a timer of the program's own. A shell in between adds 128 to the signal: 137 is -9, 139
is -11, 143 is -15.

## See also

- [Error propagation](https://docs.pytorch.org/docs/stable/elastic/errors.html): the `record` decorator
- [torchrun](https://docs.pytorch.org/docs/stable/elastic/run.html): `--log-dir`, `--tee`, `--redirects`
"""

from gpudoctor import Check, Fix, Kind, Severity, Symptom

# The exit codes of SIGKILL and of crashes are other failures, host-oom-killed and child-segfault; of SIGINT, none.
CODE = r"(?P<code>-(?!(?:[246-9]|11|2[45])\b)\d{1,2}|(?!13[24-79]\b|15[23]\b)\d{1,3})\b"
# All but those that have a failure of their own, as for exit codes.
SIGNAL = r"SIG(?!(?:KILL|SEGV|ABRT|BUS|ILL|FPE|INT|XCPU|XFSZ)\b)[A-Z]+\d?"
# The C library's words for the same (strsignal(3)); it tells of SIGTERM where Slurm or somebody ended the job.
WORDS = r"Alarm clock|User defined signal [12]|Hangup|Quit|Trace/breakpoint trap|Broken pipe|Bad system call|(?:Virtual|Profiling) timer expired"
# A few lines below its headline, torchrun's summary names the rank that failed first.
ROOT = rf"Root Cause[\s\S]{{0,300}}?rank\s*: (?P<rank>\d+)[\s\S]{{0,80}}?exitcode\s*: {CODE}"
ROW = rf"(?:rank\s*: (?P<rank>\d+)[^\n]{{0,80}}\n\W{{0,80}})?exitcode *: {CODE} \(pid"

# What a launcher starts, and no compiler, other tool or line of Python that a program calls.
STARTER = r"CalledProcessError: Command \[?'(?:\['(?:[^'\n]*[/\\])?python[\d.]*(?:\.exe)?'(?:, '[\w./\\-]{1,200}\.py')?,|(?:accelerate|torchrun|deepspeed|python[\d.]*))"
TRAINING = r"(?=[^\n]{0,300}?(?:\bpython|\btorchrun|\bdeepspeed\b|\baccelerate\b|\bsrun\b|\bmpirun\b|\.py\b))(?!\[?'\S*python[\d.]*', '-c')(?!\[?'(?:\S*/)?(?:ninja|which|git|nvcc|gcc|g\+\+|c\+\+|pip)\b)"

check = Check(
    severity=Severity.ERROR,
    secondary=True,
    elsewhere=True,
    symptoms=[
        Symptom(r"\bChildFailedError:? *$", near=ROOT),
        Symptom(r"\bChildFailedError:? *$", unless=r"exitcode\s*: -?\d"),
        # cut off below the first of the list, whose exit codes are not all torchrun's own
        Symptom(
            r"\bChildFailedError:? *$",
            near=rf"ChildFailedError[\s\S]{{0,600}}?rank\s*: (?P<rank>\d+)[\s\S]{{0,80}}?exitcode\s*: (?!-15\b){CODE}",
            unless=r"Root Cause \(first[\s\S]{0,300}?exitcode",
        ),
        # The headline is not in this log; where it is, the other ranks' rows are what torchrun itself ended.
        Symptom(rf"\bexitcode *: {CODE} \(pid: \d+\)", near=ROW, unless=r"\bChildFailedError"),
        rf"failed \(exitcode: {CODE}\) local_rank: (?P<local_rank>\d+) \(pid: \d+\)(?: of (?:binary|fn)|$)",
        rf"CalledProcessError: Command {TRAINING}.*returned non-zero exit status {CODE}",
        # the command's parts stand in lines of their own, or the line is cut off
        Symptom(
            STARTER + r" ?$",
            unless=r"returned non-zero exit status (?:-?(?:[46-9]|11|2[45])|13\d|15[23])\b|died with <Signals",
        ),
        # cut off between the parts of what torchrun, or a wrapper of it, was called with
        Symptom(
            r"CalledProcessError: Command '\['(?:[^'\n]*[/\\])?python[\d.]*(?:\.exe)?', '-[mu]', '(?:torch\.distributed|[^'\n]{1,200}\.py)[^'\n]{0,80}'"
            r"(?:, '[^'\n]{0,200}'){0,40},? ?[\"`]?$",
            unless=r"returned non-zero exit status|died with <Signals",
        ),
        rf"CalledProcessError: Command .*died with <Signals\.(?P<signal>{SIGNAL})",
        rf"exits with return code = {CODE}",
        rf"ssh exited with exit code (?!255\b){CODE}",  # pdsh
        rf"srun: error: (?P<host>[\w.-]+): tasks? (?P<rank>\d+)[\d,-]*: Exited with exit code {CODE}",
        r"ON (?P<host>[\w.-]+) FAILED \(non-zero exit code or other failure mode\)",
        rf"process (?P<rank>\d+) terminated with exit code {CODE}",
        rf"process (?P<rank>\d+) terminated with signal (?P<signal>{SIGNAL})",
        rf"srun: error: (?P<host>[\w.-]+): tasks? (?P<rank>\d+)[\d,-]*: (?P<signal>{WORDS})",
        rf"exited on signal \d+ \((?P<signal>{WORDS})\)",  # Open MPI
        r"Primary job +terminated normally, but \d+ process",
        r"MPI_ABORT was invoked on rank (?P<rank>\d+)",
        rf"= +EXIT CODE: (?!(?:9|11)\b){CODE}",  # MPICH and Intel MPI
        rf"Process (?P<rank>\d+) exit with status code {CODE}",  # Horovod
        r"(?:Horovod|mpirun|mpiexec) detected that one or more processes exited with non-zero status",
        r"Horovod has been shut down\. This (?:was|has been) ca",
        rf"Child process with PID \d+ terminated with code {CODE}\.",
        # pasted without its line ends, or quoted alone
        Symptom(r"\b[Cc]hildFailedError: {1,4}(?:=+ ?)?\S{1,120} FAILED\b", unless=r"exitcode\s*: -?\d"),
        # parts of torchrun's summary, cut out of it
        Symptom(
            r"^\S{1,200} FAILED *$",
            near=r"(?m:^Failures:\s*$|^Root Cause \(first observed failure\))",
            unless=r"ChildFailedError|exitcode\s*: -?\d",
        ),
        Symptom(
            r"^\W{0,4}traceback *: To enable traceback see: ",
            unless=r"ChildFailedError|exitcode\s*: -?\d|(?m:^\S{1,200} FAILED *$)",
        ),
        r"\"name\": \"torchelastic\.worker\.status\.FAILED\"",  # torchrun's events
        r"\] Worker group FAILED\. \d+/\d+ attempts left",
        r"PyTorchJob \S{1,100} is failed because \d+ \w+ replica",
        r"ray\.train\.\S{0,40}TrainingFailedError",
        rf"\bWorker \w{{1,60}} pid \d+ died, exit code: {CODE}",  # vLLM
        # Ray's worker, of which nothing more is known than that it is gone
        r"\bThe actor is dead because its (?:worker process|owner|node) has died",
        r"\bThe actor died unexpectedly before finishing this task",
        r"\bA worker died or was killed while executing a task",
        r"\bFailed to connect to GCS within \d+ seconds\. GCS may have been killed",
        r"has been marked dead because the detector has missed too many heartbeats",
        # JAX's service, of another process
        r"heartbeat timeout\. This indicates that the remote task has failed",
        r"This most likely indicates that another task died",
        # engines, of the processes that they had started
        r"there are other ranks that didn't finish loading",
        r"Received sigquit from a child proces",
        r"Engine core initialization failed\. See root cause above",
        r"initialization failed due to an exception in a background process",
        # DeepSpeed's launcher ends the others when one has failed, and is itself cut off here
        Symptom(
            r"sigkill_handler\] Killing subprocess \d+",
            unless=r"Main process received|KeyboardInterrupt|exits with return code = -?\d",
        ),
        Symptom(r"^Killing subprocess \d+ *$", near=r"torch[/\\]distributed[/\\]launch\.py\", line"),
        # so does torchrun; its own word of which one had failed was cut off
        Symptom(
            r"Sending process \d+ closing signal SIGTERM",
            unless=r"failed \(exitcode: |\w(?:Error|Exception)\b|exitcode *: -?\d|death signal|KeyboardInterrupt|DUE TO",
        ),
        rf"\b[Rr]ank (?P<rank>\d+)(?: \(PID \d+\))? (?:crashed|exited) with (?:exit )?code {CODE}",  # Composer
        rf"\bAlgorithmError: Exit [Cc]ode: {CODE}",  # SageMaker
        r"\b(?:AlgorithmError: |framework error: |exceptions\.)?ExecuteUserScriptError:?(?: |$)",
        r"^(?:\S+ )?Error: failed to run torchrun ",  # ColossalAI
        # Kubeflow, and what kubectl prints of pods
        rf"Error pod \S{{1,100}} container \S{{1,60}} exitCode: {CODE}",
        rf"\bPod: (?P<host>[\w./-]+) exited with code (?!0\b){CODE}",
        r"^(?:\S+ +)?(?P<host>\S+) +\d+/\d+ +(?:CrashLoopBackOff|Error|RunContainerError) +\d",
        r"\bBack-off restarting failed container\b(?!.{0,40}\binit)",
        r"ExecuteUserScriptError:? ?(?:ExecuteUserScriptError:)?\s*(?:ExitCode|exit code) (?P<code>[1-9]\d*)|^\W{0,3}ExitCode (?P<sagemaker>[1-9]\d*)\W{0,3}$",  # SageMaker
        r"^command terminated with exit code (?P<code>1|2)\b",  # kubectl exec
        r"\bWorkerCrashedError: The worker died unexpectedly while executing",  # Ray
    ],
    message="a worker[ (rank <rank>)][ (local rank <local_rank>)][ on <host>] ended[ with exit code <code>][ by <signal>]; what it died of is not in the launcher's words",
    fixes=[
        Fix(
            "Keep every worker's output, in a file for each and on the terminal",
            "torchrun --log-dir=logs --redirects=0 --tee=3 --nproc-per-node=N train.py",
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
        Fix(
            "Lose no output that is still in a buffer, and show the Python line of a crash",
            "export PYTHONUNBUFFERED=1 PYTHONFAULTHANDLER=1",
        ),
    ],
)
