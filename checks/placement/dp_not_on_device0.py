"""A DataParallel module has parameters outside its first GPU.

## What happens

`nn.DataParallel` raises "module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of
them on device: cpu" at the first forward, before anything is computed.

## Why

DataParallel copies the module from `device_ids[0]` to the other GPUs in every forward, so all of it must be there.
It does not when `.to(device)` was forgotten or came before a layer was replaced (a new head for fine-tuning); when the
model was moved to another GPU than `device_ids` begins with; or when a library placed layers on several devices
(`device_map="auto"`), which DataParallel cannot serve.

## How to tell

The message names the device of the first stray one. All of them:
`[name for name, p in model.named_parameters() if p.device != torch.device("cuda:0")]`, and the same for
`named_buffers()`.

## See also

- [DataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html): parameters and buffers must be on `device_ids[0]`
- [DDP tutorial](https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html#comparison-between-dataparallel-and-distributeddataparallel): one process per GPU, no copies in each forward pass
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"module must have its parameters and buffers on device(?: (?P<expected>[\w:]+) ?\(device_ids\[0\]\) ?but found one of them on device ?: ?(?P<found>[\w:]+))?",
        r"[Aa]ll tensors must be on devices\[0\]",
        r"Broadcast function not implemented for CPU tensors",
    ],
    message="part of the module is not on the first GPU of DataParallel[: it is on <found> instead of "
    "<expected>]",
    fixes=[
        Fix(
            "Move the whole module after its last change and before the first forward",
            'model = model.to("cuda:0")\nmodel = nn.DataParallel(model, device_ids=[0, 1])',
            Kind.EDIT,
            proof='.to("cuda:0")',
        ),
        Fix(
            "If it should start on another GPU, name that one first",
            'model = nn.DataParallel(model.to("cuda:1"), device_ids=[1, 0])',
            Kind.EDIT,
        ),
        Fix(
            'A model that was loaded with device_map="auto" is spread already: do not wrap it',
            "model = AutoModel.from_pretrained(name)  # without device_map, then DataParallel",
            Kind.EDIT,
        ),
    ],
)
