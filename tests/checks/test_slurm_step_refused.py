"""slurm-step-refused: seen in logs."""

EXAMPLES = {
    "srun: error: Only allocated 3 nodes asked for 8": "Slurm did not start the program: Only allocated 3 nodes asked for 8",
    "slurmstepd-sp-0016: error: pyxis: couldn't start container": "Slurm did not start the program: pyxis: couldn't start container",
    "It gives `sbatch: error: Batch job submission failed: Requested node configuration is not available`. With one CPU it runs": "Slurm did not start the program: Requested node configuration is not available",
    "srun: error: Unable to create step for job 4711: More processors requested than permitted": (
        "Slurm did not start the program of job 4711: More processors requested than permitted"
    ),
    "srun: error: Unable to create step for job 4711: Memory required by task is not available": (
        "Slurm did not start the program of job 4711: Memory required by task is not available"
    ),
    "srun: error: Unable to create job step: Job/step already completing or completed": (
        "Slurm did not start the program: Job/step already completing or completed"
    ),
    "srun: Job 4711 step creation temporarily disabled, retrying (Requested nodes are busy)": (
        "Slurm did not start the program of job 4711: Requested nodes are busy"
    ),
    "srun: error: Task launch for StepId=4711.2 failed on node node40: Unable to satisfy cpu bind request": (
        "Slurm did not start the program of job 4711 on node40: Unable to satisfy cpu bind request"
    ),
    "srun: error: Application launch failed: Job credential expired": (
        "Slurm did not start the program: Job credential expired"
    ),
    "srun: error: CPU binding outside of job step allocation, allocated CPUs are: 0x34000004.": (
        "Slurm did not start the program: CPU binding outside of job step allocation"
    ),
    "srun: error: Timed out waiting for job step to complete": (
        "Slurm did not start the program: Timed out waiting for job step to complete"
    ),
    "slurmstepd: error: execve(): /data/run.sh: No such file or directory": (
        "Slurm did not start the program: /data/run.sh: No such file or directory"
    ),
    "srun: fatal: SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually exclusive.": (
        "Slurm did not start the program: SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are "
        "mutually exclusive"
    ),
    "srun: fatal: cpus-per-task set by two different environment variables SLURM_CPUS_PER_TASK=48 != SLURM_TRES_PER_TASK=cpu:2": (
        "Slurm did not start the program: cpus-per-task set by two different environment variables"
    ),
    "srun: unrecognized option '--gpus-per-nodes=4'": (
        "Slurm did not start the program: unrecognized option '--gpus-per-nodes=4'"
    ),
    "sbatch: error: Batch job submission failed: Requested node configuration is not available": (
        "Slurm did not start the program: Requested node configuration is not available"
    ),
    "srun: error: Unable to allocate resources: Invalid account or account/partition combination specified": (
        "Slurm did not start the program: Invalid account or account/partition combination specified"
    ),
    "salloc: error: Job submit/allocate failed: Requested time limit is invalid (missing or exceeds some limit)": (
        "Slurm did not start the program: Requested time limit is invalid (missing or exceeds some limit)"
    ),
    "slurmstepd: error: pyxis: couldn't start container": (
        "Slurm did not start the program: pyxis: couldn't start container"
    ),
    "sbatch: error: invalid partition specified: gpux": "Slurm did not start the program: invalid partition specified: gpux",
}
NOT_THIS = [
    "srun: error: node0: task 0: Exited with exit code 1",
    "srun: job 4711 queued and waiting for resources",
    "srun: Job 4711 step creation temporarily disabled, retrying (Requested nodes are busy)\nsrun: Step created for StepId=4711.1",
    "srun: error: node107: task 0: Out Of Memory",
]
