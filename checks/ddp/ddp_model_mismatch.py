"""The ranks built different models.

## What happens

DDP compares the parameters when it wraps the model: "DDP expects same model across all ranks, but Rank 1 has 4 params,
while rank 0 has inconsistent 2 params", or "params[0] in this process with sizes [5, 4] appears not to match sizes of
the same param in process 0". DeepSpeed: "disagreement between rank0 and rank1". Some ranks raise, the others wait for
them until the time-out. Torch 1.8 and older do not compare the counts, and hang.

## Why

Only parameters that require a gradient count. They differ because:

- A size comes from the rank's own share of the data: number of classes, vocabulary, longest sequence.
- A rank changed its model alone: `if rank == 0:` around resizing, freezing, adding adapters, or loading weights.
- The nodes run other code, other options or other versions of a library.
- Two jobs met at one rendezvous port, and the counts are those of two programs.

## How to tell

Print on every rank just before the wrap, and compare:
`print(rank, [(n, tuple(p.shape)) for n, p in model.named_parameters() if p.requires_grad])`.

## See also

- [DistributedDataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html): the same parameters in the same order on every rank
- [torch pull 52887](https://github.com/pytorch/pytorch/pull/52887): when and how the models are compared
"""

from gpudoctor import Check, Fix, Kind, Severity, Symptom

USED = r"partitioned_param_coordinator|__submodule_order|__param_order"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        # "inconsistent 0 params" is ddp-peer-missing
        (
            r"DDP expects same model across all ranks, but Rank (?P<rank>\d+) has (?P<own>\d+) params, "
            r"while rank (?P<other>\d+) has inconsistent (?P<others>[1-9]\d*) params"
        ),
        (
            r"(?:params|replicas\[\d+\])\[(?P<index>\d+)\] in this process with sizes (?P<sizes>\[[\d, ]{0,100}\]) "
            r"appears not to match sizes of the same param in process (?P<first>\d+)"
        ),
        # what DeepSpeed compares of the modules and parameters that a step used is collective-mismatch
        Symptom(r"disagreement between rank0 and rank(?P<last>\d+): rank0:", unless=USED),
        # retold
        r"DDP expects same model across all ranks(?!, but [Rr]ank)",
        (
            r"(?:params|replicas\[\d+\])\[(?P<index>\d+)\] in this process with shape (?P<sizes>\[[\d, ]{0,100}\]) "
            r"appears not to match shape of the same param in process (?P<first>\d+)"
        ),
    ],
    message="the ranks built different models[: rank <rank> has <own> trainable parameters, rank <other> has <others>]"
    "[: parameter <index> has the sizes <sizes> here, and others on rank <first>][: rank <last> and rank 0 disagree]",
    fixes=[
        Fix(
            "Let one rank find the sizes, and tell them to all before the model is built",
            "sizes = [len(vocabulary)]\ndist.broadcast_object_list(sizes, src=0)\nmodel = Net(*sizes)",
            Kind.EDIT,
            proof="dist.broadcast_object_list(sizes, src=0)",
        ),
        Fix(
            "Build, resize and freeze on every rank; keep `if rank == 0:` for printing and saving",
            "model = Net(num_classes)\nmodel.backbone.requires_grad_(False)\n"
            "model = DistributedDataParallel(model, device_ids=[local_rank])",
            Kind.EDIT,
        ),
        Fix(
            "Compare code and versions: run this on each node",
            "git rev-parse HEAD && python -m pip freeze | sha256sum",
        ),
    ],
)
