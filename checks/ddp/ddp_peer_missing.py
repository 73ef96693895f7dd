"""DDP got no answer from another rank when it compared the models.

## What happens

The constructor raises "DDP expects same model across all ranks, but Rank 0 has 161 params, while rank 1 has
inconsistent 0 params". The 0 is not a count: nothing came from that rank, and the buffer was still empty.

## Why

- That rank failed before or in its own DDP call: out of memory, an exception, killed. Its error is further up.
- It is still loading the model or the data, and the time-out came first: 10 minutes with NCCL (30 until torch 2.1).
- NCCL cannot pass data between the two: peer-to-peer behind an IOMMU or ACS, or the wrong network interface.
- That rank had nothing to train and stopped (`ddp-no-grad`).

## How to tell

Read the output of the rank that has "0 params", from its end. If it says nothing, look at the time between start and
message: about 10 or 30 minutes is a time-out. With `NCCL_DEBUG=INFO` the lines before show the connection between
the two.

## See also

- [torch issue 102438](https://github.com/pytorch/pytorch/issues/102438): the message with several nodes
- [init_process_group](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.init_process_group): `timeout`
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        (
            r"DDP expects same model across all ranks, but Rank (?P<rank>\d+) has (?P<own>\d+) params, "
            r"while rank (?P<other>\d+) has inconsistent 0 params"
        ),
    ],
    message="rank <rank> has <own> parameters and nothing came from rank <other>, which failed, is late or cannot be reached",
    follows=[
        "child-segfault",
        "cuda-init-failed",
        "cuda-oom",
        "cuda-visible-devices",
        "ddp-no-grad",
        "host-oom-killed",
        "nccl-driver-unsupported",
        "nccl-duplicate-gpu",
        "nccl-infiniband",
        "nccl-interface",
        "nccl-nvls",
        "nccl-out-of-memory",
        "nccl-p2p",
        "nccl-version-mismatch",
        "port-in-use",
        "collective-in-branch",
    ],
    fixes=[
        Fix(
            "Read what rank <other> says: keep each rank's output in a file of its own",
            "torchrun --log-dir=logs --tee=3 --nproc-per-node=N train.py",
        ),
        Fix(
            "See whether NCCL connects the ranks, and how",
            "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,P2P,NET torchrun --nproc-per-node=N train.py",
        ),
        Fix(
            "Where a rank loads for longer than the time-out: allow for it",
            'dist.init_process_group("nccl", timeout=datetime.timedelta(hours=1))',
            Kind.EDIT,
            proof="timeout=datetime.timedelta(hours=1)",
        ),
        Fix(
            "Do without peer-to-peer copies; if that helps, they are at fault, and every transfer is slower until they are repaired",
            "NCCL_P2P_DISABLE=1 torchrun --nproc-per-node=N train.py",
            Kind.MITIGATION,
        ),
    ],
)
