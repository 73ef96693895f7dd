"""DataParallel is used, which torch itself advises against.

## What happens

It works. It is slower than one process per GPU, and GPU 0 needs more memory than the others: in every forward pass the model is
copied to all GPUs, the batch is cut and the outputs are gathered on GPU 0, all by one Python process.

## Why

DistributedDataParallel has a process for each GPU, keeps the copies, and sums gradients while the backward pass still runs. It also
takes several nodes.

## How to tell

`nvidia-smi` shows one process on all GPUs, GPU 0 with the most memory, and the others idle in between.

## See also

- [DataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html): its own first warning
- [DDP tutorial](https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html#comparison-between-dataparallel-and-distributeddataparallel): the two compared
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Script

check = Check(
    severity=Severity.NOTE,
    fixes=[
        Fix(
            "One process per GPU: wrap with DistributedDataParallel",
            'dist.init_process_group("nccl")\nlocal_rank = int(os.environ["LOCAL_RANK"])\ntorch.cuda.set_device(local_rank)\n'
            "model = DistributedDataParallel(model.to(local_rank), device_ids=[local_rank])",
            Kind.EDIT,
        ),
        Fix(
            "And start it with torchrun, here on 2 GPUs; the loader needs a DistributedSampler (`sampler-missing`)",
            "torchrun --standalone --nproc-per-node=2 train.py",
        ),
    ],
    no_reproduction="not written yet",
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """Each DataParallel and data_parallel."""
    made = (script.made_by(thing) for thing in script.of_kind("dp"))
    for call in (*filter(None, made), *script.named("torch.nn.parallel.data_parallel")):
        yield check.found(
            f"{call.text}() drives all GPUs from one process: slower than DistributedDataParallel, with GPU 0 fuller than the rest",
            location=call.place,
        )
