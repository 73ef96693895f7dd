"""SyncBatchNorm is in a model that is not on GPUs under DDP.

## What happens

Wrapping raises "SyncBatchNorm layers only work with GPU modules", or the forward pass "SyncBatchNorm expected input
tensor to be on GPU". Old torch (1.8) also says "SyncBatchNorm is only supported within
torch.nn.parallel.DistributedDataParallel" and "… for DDP with single GPU per process".

## Why

In training, SyncBatchNorm sums the statistics over the ranks, and it does so on accelerators only:

- The model was wrapped before it was moved to the GPU.
- The script converts its layers always, and this run is on the CPU: a test, or gloo, or a GPU that torch cannot use.
- A model that was trained with SyncBatchNorm is used on the CPU, in training mode, in a process that has joined a group.
- A configuration for several GPUs (`SyncBN`, `norm_cfg`) is run without distribution.

## How to tell

`{p.device for p in model.parameters()}`, `model.training` and `torch.cuda.is_available()` just before the line that
the traceback names. In `eval()` mode it works on the CPU as BatchNorm does.

## See also

- [SyncBatchNorm](https://docs.pytorch.org/docs/stable/generated/torch.nn.SyncBatchNorm.html): for DDP with one GPU per process
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"SyncBatchNorm layers only work with (?:GPU|CUDA) modules",
        r"SyncBatchNorm expected input tensor to be on (?:GPU|CUDA|XPU)",
        r"SyncBatchNorm is only supported (?:within torch\.nn\.parallel\.DistributedDataParallel|for DDP with single GPU)",
    ],
    message="SyncBatchNorm was used without a GPU, or outside of DDP; it sums its statistics over the ranks, on GPUs alone",
    follows=[
        "torch-cpu-build",
        "cuda-visible-devices",
        "driver-not-loaded",
        "cuda-driver-too-old",
        "cuda-init-failed",
    ],
    fixes=[
        Fix(
            "Convert on GPUs alone, and move the model before the wrap",
            'if device.type == "cuda":\n    model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)\n'
            "model = DistributedDataParallel(model.to(device))",
            Kind.EDIT,
            proof='if device.type == "cuda":',
        ),
        Fix(
            "To use a trained model on the CPU: leave DDP out and training mode off",
            "model.eval()",
            Kind.EDIT,
        ),
        Fix(
            "Start one process for each GPU, here 2; SyncBatchNorm works with one process too",
            "torchrun --nproc-per-node=2 train.py",
        ),
        Fix(
            "In OpenMMLab, without distribution: turn the layers back into BatchNorm",
            "from mmengine.model import revert_sync_batchnorm\n\nmodel = revert_sync_batchnorm(model)",
            Kind.EDIT,
        ),
    ],
)
