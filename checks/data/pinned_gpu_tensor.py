"""The DataLoader is to pin samples that lie on the GPU already.

## What happens

"RuntimeError: cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned", at the first batch; with workers or several
GPUs below "Caught RuntimeError in pin memory thread for device 0".

## Why

`pin_memory=True` copies each batch into page-locked memory of the host, from which the copy to the GPU is fast. A data set, a
`collate_fn` or a transform that returns tensors on the GPU leaves nothing to pin. The same message comes for sparse tensors.

## How to tell

`print(dataset[0][0].device)`: it must be `cpu`. Look for `.cuda()`, `.to(device)` and `device=` in the data set and in
`collate_fn`, and for `torch.set_default_device("cuda")`.

## See also

- [Memory pinning](https://docs.pytorch.org/docs/stable/data.html#memory-pinning): what the loader pins
- [Use pinned memory buffers](https://docs.pytorch.org/docs/stable/notes/cuda.html#use-pinned-memory-buffers): and why it is faster
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"cannot pin '(?P<type>[\w.]{1,60})'? only (?:dense )?CPU (?:tensors|memory) can be pinned",
        r"Only dense CPU tensors can be pinned",
    ],
    message="a batch[ of type <type>] is to be pinned, and only dense tensors in the host's memory can be: the data set or collate_fn "
    "puts its samples on the GPU, or they are sparse",
    fixes=[
        Fix(
            "Keep the samples on the CPU, and move each batch in the training loop",
            "for x, target in loader:  # DataLoader(..., pin_memory=True)\n    x = x.to(device, non_blocking=True)",
            Kind.EDIT,
        ),
        Fix(
            "A data set that fits on the GPU may stay there: then do not pin, and use no workers",
            "loader = DataLoader(dataset, batch_size=64, pin_memory=False, num_workers=0)",
            Kind.EDIT,
        ),
    ],
)
