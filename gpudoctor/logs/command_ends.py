"""What shells, launchers and supervisors say of how a command, or one of its workers, ended."""

from gpudoctor.patterns import late_pattern

RESTARTED = late_pattern(
    r"failed \(exitcode: -?\d+\) local_rank: |will restart worker group|Restarting worker group|Worker group FAILED"
)
"""What torchrun says of workers that it may start again; where training goes on after it, it did."""
CODES = (
    r"\b(?:[Ee]xit|[Rr]eturn)(?:ed)?[ _-]?(?:codes|statuses)\b\W{1,4}(?:(?:\w+['\"]?: ?)?0\b[, ]{1,2}){0,64}"
    r"(?:\w+['\"]?: ?)?-?[1-9]\d{0,2}\b(?!['\"]?:)"
)
"""A launcher's list of how all its processes ended, one of them at least with a failure."""
STATUS = late_pattern(
    r"\b[Ee]xit(?:ed|ing|s)?(?: with)?(?: (?:a )?non-?zero)?(?: exit)?[ _-]?(?:[Cc]ode|[Ss]tatus)\b\W{0,4}(?!0\b)-?\d+|"
    rf"{CODES}|\b[Rr]eturn[ _-]?[Cc]ode\b(?: (?:is|was))?\W{{0,4}}(?!0\b)-?\d+|"
    r"\breturned non-zero exit status\b|\b(?:returned|rc|exit)[ =:]{1,2}(?!0\b)-?\d{1,3}$|"
    r"\bSending process \d+ closing signal SIGTERM\b|\bWaiting for W&B process to finish\.\.\. \(failed -?\d|"
    r"\bfail(?:ed|s|ure)? with (?:exit code|(?:exit )?status) [1-9]\d*\b|"
    r": line \d+: +\d+ (?:Alarm clock|(?:CPU time|File size) limit exceeded|"
    r"Virtual timer expired|Killed +(?:\w+=\S* +){0,8}(?:\S*/)?timeout)\b|"
    # Hydra, and Kubernetes
    r"^Error executing job with overrides: |\"reason\": ?\"(?:CrashLoopBackOff|ImagePullBackOff|ErrImagePull)\"|"
    r"^slurmstepd\S*: error: \*\*\* |^\[E \w+\.(?:cc|cpp):\d+\] Exception |"
    r"^Number of errored trials: [1-9]|\bOCI runtime (?:create|exec|start) failed\b|"
    r"\b(?:training|run|job) aborted\b|\(core dumped\)|^make(?:\[\d+\])?: \*\*\* |^##\[error\]|"
    r"^(?:srun|slurmstepd|sbatch|salloc|mpirun|docker|kubectl|conda|pip|uv): (?:error|fatal): |"
    r"^(?:docker: )?Error (?:response )?from (?:daemon|server)|^(?:FAILED|Failed)[: ]|(?<![:.\d])[1-9]\d* failed\b|"
    r"^\S{1,200}\.py FAILED *$|"
    # DeepSpeed's launcher of the others, when one of its processes failed; a server's or an engine's own word
    r"^Killing subprocess \d|\bfailed to start\.?$|"
    # MPI, of an error that ends its processes (Open MPI's and MPICH's words)
    r"^No components were able to be opened in the \w+ framework\.$|^PML \w+ cannot be selected$|"
    r"^(?:\*{3} )?MPI_ERRORS_ARE_FATAL\b|^application called MPI_Abort\(|^MPI_ABORT was invoked on rank \d|"
    # a program of Windows that starts Python
    r"^failed to create process\.?$|^Fatal error in launcher: |"
    # torch.multiprocessing.spawn, above what the process itself had said
    r"^-- Process \d+ terminated with the following error|"
    # Jupyter, VS Code and Colab, of the process that ran a notebook's cells
    r"\bThe [Kk]ernel (?:appears to have died|crashed while executing)|\b[Yy]our session crashed\b|"
    # IPython, above the frames: the exception has its name in front
    r"^[A-Z]\w+ {2,}Traceback \(most recent call last\)|"
    # kubectl describe; absl's and Ray's word of a process that somebody ended
    r"\bBack-off (?:restarting failed container|pulling image)\b|\*\*\* SIG(?:TERM|HUP|INT) received at time=|"
    # kubectl get pods
    r"^(?:\S+ +)?\S+ +\d+/\d+ +(?:Init:)?(?:CrashLoopBackOff|Error|Evicted|\w*ImagePull\w*|RunContainerError|"
    r"CreateContainer\w*) +\d|"
    r": (?:command not found|No such file or directory|Permission denied|syntax error.{0,80}|bad interpreter.{0,80}|"
    r"cannot execute(?:: required file not found| binary file.{0,80})|"
    r"unexpected EOF while .{0,60}|unbound variable)$"
)
"""What says that a command failed, whatever it was."""
SUCCEEDED = late_pattern(r"^Job succeeded\b|(?:^|: )\S+\.service: Deactivated successfully\.$")
"""GitLab's word for a job of which every command that counts ended with 0, and systemd's for a service."""
LEFT_WITH = late_pattern(
    r"^(?P<who>\S.{0,60}?) (?:exited|ended|left|finished|returned) with (?:exit )?(?:code|status) (?P<code>-?\d+)\b"
)
"""What a supervisor says of the end of a program that it had started."""
TASK_ENDED = late_pattern(r"^srun: error: \S+: tasks? [\d,-]+: (?!.{0,40}\bexit code 0\b)")
"""What srun says of tasks that ended, each a process of its own: the others of the step may go on."""
STEP_ENDED = late_pattern(
    r"^srun: (?:Force Terminated|Terminating|Job step aborted|launch/slurm: _step_signal: Terminating)\b"
)
"""What srun says of a step that it ends because one of its tasks had ended."""
CANCELLED = late_pattern(
    r"^slurmstepd\S*: error: (?:\*\*\* (?:JOB|STEP) .{1,80} CANCELLED AT |(?:Job|Step) .{1,80}, being killed$)"
)
"""What Slurm says of a job or step that it ends: its tasks may still print for some seconds."""
