"""syncbn-cpu: seen in logs."""

MESSAGE = "SyncBatchNorm was used without a GPU, or outside of DDP; it sums its statistics over the ranks, on GPUs alone"
EXAMPLES = {
    "[rank0]: ValueError: SyncBatchNorm layers only work with GPU modules": MESSAGE,
    "AssertionError: SyncBatchNorm layers only work with CUDA modules": MESSAGE,
    "ValueError: SyncBatchNorm expected input tensor to be on GPU or XPU or privateuseone": MESSAGE,
    "ValueError: SyncBatchNorm expected input tensor to be on GPU": MESSAGE,
    "AttributeError: SyncBatchNorm is only supported within torch.nn.parallel.DistributedDataParallel": MESSAGE,
    "ValueError: SyncBatchNorm is only supported for DDP with single GPU per process": MESSAGE,
}
NOT_THIS = [
    "ValueError: SyncBatchNorm number of input channels should be non-zero",
    "ValueError: Expected more than 1 value per channel when training, got input size torch.Size([1, 3])",
    "  (bn1): SyncBatchNorm(64, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)",
]
