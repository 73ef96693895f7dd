"""The local rank is used where the rank in the whole job is meant.

## What happens

Nothing on one machine. On two nodes ranks of both take the same share of the data, or two processes write "rank 0's" log
and checkpoint. Given to `init_process_group` as the rank, it makes the rendezvous hang.

## Why

`LOCAL_RANK` counts the ranks of a node, from 0 on each; `RANK` counts all. The local rank chooses the GPU; the rank chooses the
share of the data and who saves. On one node both are the same, so the mistake is not seen there.

## How to tell

`print(os.environ["RANK"], os.environ["LOCAL_RANK"])` on all nodes. Or gather the shares: `assert shares[0] != shares[1], "two
ranks take the same share of the data"`. gpudoctor knows these words in a log.

## See also

- [torchrun: environment variables](https://docs.pytorch.org/docs/stable/elastic/run.html#environment-variables): LOCAL_RANK and RANK
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[r"two ranks take the same share of the data"],
    message="two ranks take the same share of the data: the local rank, which starts at 0 on each node, stands where the rank is meant",
    fixes=[
        Fix(
            "Take the rank for data, logs and checkpoints, and the local rank for the GPU",
            'rank = int(os.environ["RANK"])\nlocal_rank = int(os.environ["LOCAL_RANK"])\ntorch.cuda.set_device(local_rank)\nsampler = DistributedSampler(dataset, rank=rank)',
            Kind.EDIT,
        ),
    ],
)
