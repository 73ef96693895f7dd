"""slurm-env-missing: seen in logs."""

MESSAGE = "the script counts on Slurm or MPI (SLURM_PROCID), which did not start this process or does not give that value"
EXAMPLES = {
    "KeyError: 'SLURM_PROCID'": MESSAGE,
    "[rank0]: KeyError: 'SLURM_NTASKS_PER_NODE'": (
        "the script counts on Slurm or MPI (SLURM_NTASKS_PER_NODE), which did not start this process or does "
        "not give that value"
    ),
    "KeyError: KeyError'SLURM_PROCID'": MESSAGE,
    "KeyError: 'OMPI_COMM_WORLD_RANK'": (
        "the script counts on Slurm or MPI (OMPI_COMM_WORLD_RANK), which did not start this process or does "
        "not give that value"
    ),
    "RuntimeError: Could not find 'SLURM_PROCID' in the SLURM environment, visit https://www.colossalai.org/ for more information": MESSAGE,
    "train.sh: line 4: SLURM_JOB_ID: unbound variable": (
        "the script counts on Slurm or MPI (SLURM_JOB_ID), which did not start this process or does not give "
        "that value"
    ),
    (
        '  File "train.py", line 12, in main\n    rank = int(os.environ.get("SLURM_PROCID"))\n'
        "TypeError: int() argument must be a string, a bytes-like object or a real number, not 'NoneType'"
    ): MESSAGE,
    (
        '  File "train.py", line 12, in main\n    tasks = int(os.environ["SLURM_TASKS_PER_NODE"])\n'
        "ValueError: invalid literal for int() with base 10: '4(x2)'"
    ): (
        "the script counts on Slurm or MPI (SLURM_TASKS_PER_NODE), which did not start this process or does "
        "not give that value"
    ),
    "bash: scontrol: command not found": (
        "the script counts on Slurm or MPI (scontrol), which did not start this process or does not give that "
        "value"
    ),
    "/bin/sh: 1: scontrol: not found": (
        "the script counts on Slurm or MPI (scontrol), which did not start this process or does not give that "
        "value"
    ),
    "FileNotFoundError: [Errno 2] No such file or directory: 'scontrol'": (
        "the script counts on Slurm or MPI (scontrol), which did not start this process or does not give that "
        "value"
    ),
    'RuntimeError: Could not detect "srun", are you indeed on a slurm cluster?': (
        "the script counts on Slurm or MPI (srun), which did not start this process or does not give that value"
    ),
    "RuntimeError: SLURM does not appear to be installed.": (
        "the script counts on Slurm or MPI, which did not start this process or does not give that value"
    ),
    'srun: error: Invalid numeric value "" for --ntasks.': (
        "the script counts on Slurm or MPI, which did not start this process or does not give that value"
    ),
    'Traceback (most recent call last):\n  File "/home/user/train.py", line 142, in main\n    rank = int(os.environ["SLURM_PROCID"])': MESSAGE,
}
NOT_THIS = [
    "KeyError: 'LOCAL_RANK'",
    "ValueError: environment variable RANK expected, but not set",
    "ValueError: invalid literal for int() with base 10: ''",
    "The `srun` command is available on your system but is not used.",
    'rank = int(os.environ["SLURM_PROCID"])',
]

FLAGGED = [
    ("slurm.py", {'int(os.environ.get("SLURM_PROCID", 0))': 'int(os.environ["SLURM_PROCID"])  # <-'}),
    """
import os
import torch.distributed as dist

class Launch:
    def __init__(self):
        self.rank = int(os.environ["SLURM_PROCID"])  # <-
        self.local = int(os.environ["SLURM_LOCALID"])
""",
]
FINE = [
    (
        "slurm.py",
        {
            '    rank = int(os.environ.get("SLURM_PROCID", 0))': '    rank = 0\n    if "SLURM_PROCID" in os.environ:\n        rank = int(os.environ["SLURM_PROCID"])'
        },
    ),
    """
import os
import torch

try:
    rank = int(os.environ["SLURM_PROCID"])
except KeyError:
    rank = 0
print(torch.__version__, rank)
""",
]
