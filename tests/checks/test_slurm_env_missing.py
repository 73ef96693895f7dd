"""slurm-env-missing: seen in logs."""

EXAMPLES = [
    "KeyError: 'SLURM_PROCID'",
    "[rank0]: KeyError: 'SLURM_NTASKS_PER_NODE'",
    "KeyError: KeyError'SLURM_PROCID'",
    "KeyError: 'OMPI_COMM_WORLD_RANK'",
    "RuntimeError: Could not find 'SLURM_PROCID' in the SLURM environment, visit https://www.colossalai.org/ for more information",
    "train.sh: line 4: SLURM_JOB_ID: unbound variable",
    (
        '  File "train.py", line 12, in main\n    rank = int(os.environ.get("SLURM_PROCID"))\n'
        "TypeError: int() argument must be a string, a bytes-like object or a real number, not 'NoneType'"
    ),
    (
        '  File "train.py", line 12, in main\n    tasks = int(os.environ["SLURM_TASKS_PER_NODE"])\n'
        "ValueError: invalid literal for int() with base 10: '4(x2)'"
    ),
    "bash: scontrol: command not found",
    "/bin/sh: 1: scontrol: not found",
    "FileNotFoundError: [Errno 2] No such file or directory: 'scontrol'",
    'RuntimeError: Could not detect "srun", are you indeed on a slurm cluster?',
    "RuntimeError: SLURM does not appear to be installed.",
    'srun: error: Invalid numeric value "" for --ntasks.',
    'Traceback (most recent call last):\n  File "/home/user/train.py", line 142, in main\n    rank = int(os.environ["SLURM_PROCID"])',
]
NOT_THIS = [
    "KeyError: 'LOCAL_RANK'",
    "ValueError: environment variable RANK expected, but not set",
    "ValueError: invalid literal for int() with base 10: ''",
    "The `srun` command is available on your system but is not used.",
    'rank = int(os.environ["SLURM_PROCID"])',
]
SAYS = {
    EXAMPLES[
        0
    ]: "the script counts on Slurm or MPI (SLURM_PROCID), which did not start this process or does not give that value",
    EXAMPLES[
        8
    ]: "the script counts on Slurm or MPI (scontrol), which did not start this process or does not give that value",
}
