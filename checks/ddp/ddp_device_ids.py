"""DDP's device_ids do not fit the devices that the module is on.

## What happens

The constructor raises "DistributedDataParallel device_ids and output_device arguments only work with
single-device/multiple-device GPU modules or CPU modules, but got device_ids [0], output_device None, and module
parameters {device(type='cpu')}", or "device_ids can only be None or contain a single element", or "input module must be
on the same type of devices".

## Why

- `{device(type='cpu')}`: the model was not moved to the GPU before the wrap, or there is no GPU and `device_ids` was
  given all the same. With gloo on the CPU it must be left out.
- Several ids: one process was given all GPUs, as DataParallel is. DDP takes one GPU per process.
- Several GPUs in the braces: the model is spread over them, as `device_map="auto"` does. Then `device_ids` must be None,
  and the processes must not share those GPUs.
- `{'cpu', 'cuda'}`: a part of the model stayed behind, made after `.to()` or kept outside of the module's parameters.

## How to tell

`{(n, p.device) for n, p in model.named_parameters()}` just before the wrap. If everything is on the CPU, look whether
`torch.cuda.is_available()` is true in this process.

## See also

- [DistributedDataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html): when `device_ids` must be None
- [DDP tutorial](https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html): also with a model on several GPUs
"""

from gpudoctor import Check, Fix, Kind, Severity

GOT = (
    r"DistributedDataParallel device_ids and output_device arguments only work with .{0,80}modules?, "
    r"but got device_ids (?P<ids>\[.{0,120}?\]|None), output_device .{0,40}?, and module parameters "
)
ONE = r"\{device\(type='\w+'(?:, index=\d+)?\)\}"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        rf"{GOT}\{{device\(type='(?P<device>\w+)'(?:, index=\d+)?\)\}}",
        rf"{GOT}(?!{ONE})(?P<devices>\{{.{{1,200}}?(?:\}}|$))",
        r"device_ids can only be None or contain a single element",
        r"DistributedDataParallel.{0,80}, but (?:input )?module parameters locate in (?P<devices>\{.{1,200}?\})",
    ],
    message="DDP's device_ids[, here <ids>,] must name the one GPU of this process, with all of the module on it"
    "[: it is on <device>][: it is on <devices>]",
    follows=[
        "device-map-with-ddp",
        "torch-cpu-build",
        "cuda-visible-devices",
        "driver-not-loaded",
        "cuda-driver-too-old",
        "cuda-init-failed",
    ],
    fixes=[
        Fix(
            "Move the whole model to this process's GPU first, and name that one",
            "torch.cuda.set_device(local_rank)\n"
            "model = DistributedDataParallel(model.to(local_rank), device_ids=[local_rank])",
            Kind.EDIT,
        ),
        Fix(
            "On the CPU, or with a model that is spread over GPUs: name none",
            "model = DistributedDataParallel(model)",
            Kind.EDIT,
        ),
        Fix("Start one process for each GPU (here 2)", "torchrun --nproc-per-node=2 train.py"),
    ],
)
