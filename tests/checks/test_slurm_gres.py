"""slurm-gres: seen in logs."""

MESSAGE = "Slurm does not know the GPUs that were asked for: "
EXAMPLES = {
    "srun: error: Step requested gres_per_node=gpu:2 is more than the job's gres_per_node=gpu:1": (
        "the step asks for more GPUs than its job has: Step requested gres_per_node=gpu:2 is more than the job's gres_per_node=gpu:1"
    ),
    "sbatch: error: Invalid generic resource (gres) specification": (
        MESSAGE + "Invalid generic resource (gres) specification"
    ),
    "sbatch: error: Batch job submission failed: Invalid generic resource (gres) specification": (
        MESSAGE + "Invalid generic resource (gres) specification"
    ),
    "srun: error: Unable to create step for job 4711: Invalid generic resource (gres) specification": (
        MESSAGE + "Invalid generic resource (gres) specification"
    ),
    "salloc: error: Job submit/allocate failed: Invalid Trackable RESource (TRES) specification": (
        MESSAGE + "Invalid Trackable RESource (TRES) specification"
    ),
    "srun: error: Unable to allocate resources: Requested GRES option unsupported by configured SelectType plugin": (
        MESSAGE + "Requested GRES option unsupported by configured SelectType plugin"
    ),
    "srun: error: Invalid GRES specification (with and without type identification)": (
        MESSAGE + "Invalid GRES specification"
    ),
}
NOT_THIS = [
    "sbatch: error: Batch job submission failed: Requested node configuration is not available",
    "SLURM_JOB_GRES=gpu:4",
    "#SBATCH --gres=gpu:4",
]
