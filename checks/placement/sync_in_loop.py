"""The training loop waits for the GPU in every step.

## What happens

Nothing is raised. The GPU idles between the steps, and more so the faster it is: `nvidia-smi` shows less than 100 %. With
`torch.cuda.set_sync_debug_mode("error")` the line raises "called a synchronizing CUDA operation".

## Why

The CPU sends kernels ahead of the GPU. `loss.item()`, `.cpu()`, `print(tensor)`, `if tensor:` and `tensor.nonzero()` wait until
the GPU has computed the number, and only then is the next kernel sent.

## How to tell

`torch.cuda.set_sync_debug_mode("warn")` before the loop, and "default" behind it: each line that waits warns. It is a prototype
and does not see all of them.

## See also

- [set_sync_debug_mode](https://docs.pytorch.org/docs/stable/generated/torch.cuda.set_sync_debug_mode.html): warn or raise where an operation waits
- [Performance tuning guide](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#avoid-unnecessary-cpu-gpu-synchronization): which operations wait
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.NOTE,
    symptoms=[r"called a synchronizing CUDA operation"],
    message="an operation in the loop waits for the GPU, which then idles until the next kernels come",
    fixes=[
        Fix(
            "Sum up on the GPU, and read the number now and then",
            "total += loss.detach()\nif step % 100 == 0:\n    print(total.item())",
            Kind.EDIT,
        ),
    ],
)
