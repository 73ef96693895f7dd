"""A parameter lies in memory in another order on another rank.

## What happens

DDP raises when it wraps the model: "params[127] in this process with sizes [256, 256, 1, 1] appears not to match
strides of the same param in process 0". The sizes agree, the strides do not.

## Why

DDP sends parameters and gradients as they lie in memory, so every rank must lay them out in the same way. One did not:

- `.to(memory_format=torch.channels_last)` ran on some ranks only.
- One rank loaded, copied or traced the model before the wrap, as in `if rank == 0: load(...)` or a summary of the
  model, and others did not. Convolutions with a 1 x 1 kernel are the ones: their strides are ambiguous.
- `load_state_dict(assign=True)` on one rank took the tensors of the file as they were.
- The nodes run different versions of torch.

## How to tell

Print on every rank just before the wrap, and compare:
`print(rank, [(n, p.stride()) for n, p in model.named_parameters()])`. The index in the message counts the parameters
that require a gradient.

## See also

- [DistributedDataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html): strides must be the same in every process
- [Channels last memory format](https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html): what it does to strides
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        (
            r"(?:params|replicas\[\d+\])\[(?P<index>\d+)\] in this process with (?P<what>sizes|strides) "
            r"(?P<values>\[[\d, ]{0,100}\]) appears not to match strides of the same param in process (?P<first>\d+)"
        ),
    ],
    message="parameter <index>, with <what> <values>, has other strides on this rank than on rank <first>",
    fixes=[
        Fix(
            "Lay all parameters out in the same way on every rank, just before the wrap",
            "for p in model.parameters():\n    p.data = p.data.clone(memory_format=torch.contiguous_format)\n"
            "model = DistributedDataParallel(model, device_ids=[local_rank])",
            Kind.EDIT,
            proof="p.data = p.data.clone(memory_format=torch.contiguous_format)",
        ),
        Fix(
            "Or take channels_last, on all ranks",
            "model = model.to(memory_format=torch.channels_last)",
            Kind.EDIT,
        ),
        Fix(
            "Load and copy on every rank, not within `if rank == 0:`",
            'model.load_state_dict(torch.load("model.pt", map_location="cpu", weights_only=True))',
            Kind.EDIT,
        ),
    ],
)
