"""device-mesh-size: seen in logs."""

MESSAGE = "the parallel sizes do not fit the number of ranks"
EXAMPLES = {
    "RuntimeError: the new group's world size should be less or equal to the world size set by init_process_group": (
        "the parallel sizes do not fit the number of ranks"
    ),
    "ValueError: Rank 9 is out of range. Valid ranks are 0 to 7 (world_size=8)": (
        "the parallel sizes do not fit the number of ranks, here 8: rank 9 is to be in a group"
    ),
    "ValueError: The arg 'group_size' (16) must not exceed the world size (12)": (
        "the parallel sizes do not fit the number of ranks, here 12: a group of 16 is asked for"
    ),
    "ValueError: The world size (10) must be divisible by 'group_size=4'": (
        "the parallel sizes do not fit the number of ranks, here 10: it must be divisible by 4"
    ),
    "RuntimeError: decoder world_size (4) is not divisible by expert_tensor_model_pipeline_parallel size (8)": (
        MESSAGE + ", here 4: it must be divisible by expert_tensor_model_pipeline_parallel size (8)"
    ),
    "AssertionError: world size (8) is not divisible by tensor model parallel size (3)": (
        MESSAGE + ", here 8: it must be divisible by tensor model parallel size (3)"
    ),
    "[rank0]: RuntimeError: Mesh should not be bigger than default world size 2, but found 8 ranks!": (
        MESSAGE + ", here 2: the mesh has 8"
    ),
    "RuntimeError: Mesh should not be bigger than default world size, but found 6 ranks!": MESSAGE
    + ": the mesh has 6",
    "RuntimeError: DeviceMesh only support homogeneous hardware, but found 6 ranks and 4 cuda devices!": (
        MESSAGE + ", here 6: the node has 4 GPUs"
    ),
    "AssertionError: Invalid parallel dims: dp_replicate(1) * dp_shard(2) * cp(1) * tp(4) * pp(1) != WORLD_SIZE(4)": (
        "the parallel sizes, dp_replicate(1) * dp_shard(2) * cp(1) * tp(4) * pp(1), do not fit the number of ranks, here 4"
    ),
    "RuntimeError: world_size (6) is not divisible by 4": MESSAGE + ", here 6: it must be divisible by 4",
    (
        "RuntimeError: `world_size` (6) is not divisible by tensor_model_parallel_size (4) x pipeline_model_parallel_size (1)"
    ): (
        MESSAGE
        + ", here 6: it must be divisible by tensor_model_parallel_size (4) x pipeline_model_parallel_size (1)"
    ),
    "ValueError: World size 2 must be divisible by the product of all parallel degrees and data parallel shards.": (
        MESSAGE + ", here 2"
    ),
    "AssertionError: Number of GPUs must be divisible by the product of all parallelism sizes for data parallel.": MESSAGE,
    "ValueError: ParallelismConfig total_size (4) does not match num_processes (1). Please adjust": (
        MESSAGE + ", here 1: the mesh has 4"
    ),
    "ValueError: WORLD_SIZE (6) must be divisible by rows * columns (4) to derive tp_size.": (
        "the parallel sizes do not fit the number of ranks, here 6: it must be divisible by rows * columns (4)"
    ),
    "ValueError: tensor_parallel_size (4) must divide world size (6) evenly.": (
        "the parallel sizes do not fit the number of ranks, here 6"
    ),
    "RuntimeError: The sizes `rows_parallel=2` and `columns_parallel_size=2` multiplied should equal the world size (6).": (
        "the parallel sizes do not fit the number of ranks, here 6"
    ),
    "ValueError: the mesh (a=2 x b=2) must cover the distributed world size (6)": (
        "the parallel sizes, a=2 x b=2, do not fit the number of ranks, here 6"
    ),
    "AssertionError: world_size (6) must be equal to the tensor_parallel_size (2) x pipeline_parallel_size (2).": (
        "the parallel sizes, tensor_parallel_size (2) x pipeline_parallel_size (2), do not fit the number of ranks, here 6"
    ),
    "ValueError: World size 6 does not equal the product of the specified parallelism degrees 4.": (
        "the parallel sizes do not fit the number of ranks, here 6"
    ),
    "RuntimeError: The parallel mesh requires 8 processes, but world_size is 6.": (
        "the parallel sizes do not fit the number of ranks, here 6: the mesh has 8"
    ),
    "AssertionError: world size (6) is not divisible by (tensor-model-parallel-size * pipeline-model-parallel-size)": "the parallel sizes do not fit the number of ranks, here 6",
}
NOT_THIS = [
    "AssertionError: 250682 is not divisible by 8",
    "ValueError: Total number of attention heads (40) must be divisible by tensor parallel size (3).",
    "DeviceMesh('cpu', [0, 1])",
]
