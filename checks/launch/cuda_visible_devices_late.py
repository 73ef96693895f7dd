"""CUDA_VISIBLE_DEVICES is set in the script after CUDA was in use.

## What happens

Nothing is raised by CUDA. The process goes on seeing all GPUs: "GPU 0" is then the same one for all ranks, where each had
meant its own.

## Why

CUDA reads the variable once, when the process first uses it. After a tensor was put on a GPU, or a library that is imported has
asked for one, `os.environ["CUDA_VISIBLE_DEVICES"] = ...` has no effect on what the driver gives out.

## How to tell

Below the line that sets it, a GPU that should be hidden still takes a tensor: `torch.zeros(1, device="cuda:1")`.
`torch.cuda.device_count()` does not tell: it may read the variable again.

## See also

- [CUDA: environment variables](https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html): CUDA_VISIBLE_DEVICES
- [torch.cuda.set_device](https://docs.pytorch.org/docs/stable/generated/torch.cuda.set_device.html): chooses the GPU at any time
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[r"CUDA_VISIBLE_DEVICES was set too late"],
    message="CUDA_VISIBLE_DEVICES was set after CUDA had read it, so it has no effect",
    fixes=[
        Fix("Set it in the job script, before Python starts", "CUDA_VISIBLE_DEVICES=1 python train.py"),
        Fix(
            "Or in the script, before torch is imported",
            'import os\n\nos.environ["CUDA_VISIBLE_DEVICES"] = "1"\n\nimport torch',
            Kind.EDIT,
        ),
        Fix("Choose the GPU by its number instead", "torch.cuda.set_device(local_rank)", Kind.EDIT),
    ],
)
