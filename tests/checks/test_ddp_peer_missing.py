"""ddp-peer-missing: seen in logs."""

EXAMPLES = {
    "RuntimeError: DDP expects same model across all ranks, but Rank 0 has 161 params, while rank 1 has inconsistent 0 params.": (
        "rank 0 has 161 parameters and nothing came from rank 1, which failed, is late or cannot be reached"
    ),
    (
        "[rank3]: RuntimeError: DDP expects same model across all ranks, but Rank 3 has 2247 params, while rank 0 has "
        "inconsistent 0 params."
    ): (
        "rank 3 has 2247 parameters and nothing came from rank 0, which failed, is late or cannot be reached"
    ),
}
NOT_THIS = [
    "RuntimeError: DDP expects same model across all ranks, but Rank 1 has 4 params, while rank 0 has inconsistent 2 params.",
    "RuntimeError: DDP expects same model across all ranks, but Rank 1 has 0 params, while rank 0 has inconsistent 382 params.",
]
