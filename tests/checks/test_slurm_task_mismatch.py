"""slurm-task-mismatch: seen in logs."""

MESSAGE = "the launch asks for 2 and has 1 by Slurm's count: the ranks that are missing or too many upset it"
EXAMPLES = {
    (
        "ValueError: You set `devices=4` in Lightning, but the number of tasks per node configured in SLURM "
        "`--ntasks-per-node=1` does not match. HINT: Set `devices=1`."
    ): "the launch asks for 4 and has 1 by Slurm's count: the ranks that are missing or too many upset it",
    "ValueError: You set `num_nodes=2` in Lightning, but the number of nodes configured in SLURM `--nodes=1` does not match.": MESSAGE,
    (
        "RuntimeError: You set `--ntasks=8` in your SLURM bash script, but this variable is not supported. "
        "HINT: Use `--ntasks-per-node=8` instead."
    ): "the launch has 8 by Slurm's count: the ranks that are missing or too many upset it",
    "You requested 2 GPUs but launched 1 slurm tasks.": MESSAGE,
    (
        "srun: warning: can't honor --ntasks-per-node set to 4 which doesn't match the requested tasks 8 with the maximum "
        "number of requested nodes 1. Ignoring --ntasks-per-node.\nInitializing distributed: GLOBAL_RANK: 0, MEMBER: 1/8"
    ): "the launch asks for 4 and has 8 by Slurm's count: the ranks that are missing or too many upset it",
    "srun: Warning: can't run 1 processes on 2 nodes, setting nnodes to 1\nInitializing distributed: GLOBAL_RANK: 0, MEMBER: 1/2": MESSAGE,
}
NOT_THIS = [
    "srun: warning: can't honor --ntasks-per-node set to 4 which doesn't match the requested tasks 8",
    "srun: error: Unable to create step for job 4711: More processors requested than permitted",
    "Multi-processing is handled by Slurm.",
    "The `srun` command is available on your system but is not used. HINT: prepend your python command with `srun`",
    "Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/8",
]
