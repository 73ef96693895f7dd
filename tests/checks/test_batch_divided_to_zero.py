"""batch-divided-to-zero: a batch size that does not divide, seen in logs."""

ZERO = "the batch size is 0: mostly it was divided by more ranks than it has samples"
EXAMPLES = {
    "[rank1]: ValueError: batch_size should be a positive integer value, but got batch_size=0": ZERO,
    "ValueError: batch_size should be a positive integeral value, but got batch_size=0": ZERO,
    "ValueError: batch_size should be a positive integer value, but got batch_size=16.0": (
        "the batch size is 16.0, and must be a whole number: mostly it was divided with / where // is meant"
    ),
    "AssertionError: batch-size 20 not multiple of GPU count 8": (
        "the batch size of all ranks together, 20, cannot be divided by GPU count 8"
    ),
    "[rank0]: AssertionError: --batch-size 9 must be multiple of WORLD_SIZE": (
        "the batch size of all ranks together, 9, cannot be divided by WORLD_SIZE"
    ),
    "ValueError: 'batch=18' must be a multiple of GPU count 4. Try 'batch=16' or 'batch=20'": (
        "the batch size of all ranks together, 18, cannot be divided by GPU count 4"
    ),
    "ValueError: To split batches, the batch size (10) needs to be a round multiple of the number of processes (4).": (
        "the batch size of all ranks together, 10, cannot be divided by the number of processes (4)"
    ),
    "AssertionError: global batch size (100) is not divisible by micro batch size (3) times data parallel size (4)": (
        "the batch size of all ranks together, 100, cannot be divided by micro batch size (3) times data parallel size (4)"
    ),
    "AssertionError: global batch size (24) is not divisible by micro batch size (5) times data parallel size (2)": "the batch size of all ranks together, 24, cannot be divided by micro batch size (5) times data parallel size (2)",
}
NOT_THIS = [
    "ValueError: num_samples should be a positive integer value, but got num_samples=0",
    "ValueError: batch_size should be a positive integer value, but got batch_size=None",
    "ValueError: batch_size should be a positive integer value, but got batch_size=-1",
]

FLAGGED = [
    (
        "torchrun.py",
        {
            "batch_size=args.batch_size, sampler=sampler, num_workers=2)": "batch_size=args.batch_size // dist.get_world_size(), sampler=sampler)  # <-"
        },
    ),
    (
        "average.py",
        {
            "batch_size=8, shuffle=True)": "batch_size=int(128 / float(dist.get_world_size())), shuffle=True)  # <-"
        },
    ),
]
FINE = [
    (
        "torchrun.py",
        {
            "batch_size=args.batch_size, sampler=sampler, num_workers=2)": "batch_size=args.batch_size // 2, sampler=sampler)"
        },
    ),
    (
        "torchrun.py",
        {
            "batch_size=args.batch_size, sampler=sampler, num_workers=2)": "batch_size=max(1, args.batch_size // dist.get_world_size()), sampler=sampler)"
        },
    ),
]
