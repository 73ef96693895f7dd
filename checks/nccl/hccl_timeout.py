"""On Ascend NPUs a rank did not come to a collective: HCCL timed out.

## What happens

torch_npu raises "error code is 507048" or "HcclAllreduce, error code is 6", and below it is one of HCCL's own codes:
"EI0002: The wait execution of the Notify register times out" in the middle of a training, "EI0006: Getting socket times
out" at its first collective.

## Why

- A rank ended with an error of its own, or never came to this collective; its own output says why.
- A rank is only late, since it alone saves, evaluates or compiles: by more than HCCL_EXEC_TIMEOUT, about half an hour, or
  at the first collective by more than HCCL_CONNECT_TIMEOUT, 120 s.
- The ranks have different numbers of batches, or call other collectives.
- The network between the NPUs loses packets; their own ports are no interfaces of the host.

## How to tell

Compare when each rank reports it. One that does not report it at all is the one to look at; "Heartbeat Lost Occurred"
names its address. Where all do, and the first and the last lie further apart than the time-out, the last was only late.
"error cqe" in the logs of the devices is the network.

## See also

- [EI0002](https://www.hiascend.com/document/detail/zh/canncommercial/81RC1/developmentguide/maintenref/troubleshooting/atlaserrorcode_15_0242.html): causes of the time-out in a collective, and what to look at
- [EI0006](https://www.hiascend.com/document/detail/en/CANNCommunityEdition/900/API/hcclug/hcclug_000050.html): the time-out of the first connection
"""

from gpudoctor import Check, Fix, Severity

REMOTE = r"(?:.{0,160}remote rank:? ?\[(?P<missing>\d+)\])?"

check = Check(
    severity=Severity.ERROR,
    secondary=True,
    elsewhere=True,
    follows=["collective-in-branch", "collective-mismatch", "keys-differ-by-rank", "rank-desync"],
    symptoms=[
        rf"wait execution of the Notify register times out{REMOTE}",
        r"\bGetting socket times out\b",
        r"\bCommunication_Error_(?:Get_Socket|Notify_Wait\w*)\b",
        r"\bhccl fftsplus task timeout occurred\b",
        r"\bwait socket establish timeout, role\[\d+\] rank\[(?P<waiting>\d+)\]",  # in the log of the device
    ],
    message="HCCL timed out waiting for another rank[: rank <missing> did not answer][: rank <waiting> had no connection]",
    fixes=[
        Fix(
            "Find the first error in the logs that each process keeps of its NPU, on each node",
            "grep -rhm 1 ERROR ~/ascend/log",
        ),
        Fix(
            "Keep every rank's output: the rank that does not report the time-out is the one to look at",
            "torchrun --log-dir=logs --tee=3 --nproc-per-node=N train.py",
        ),
        Fix(
            "Where a rank is only late to a collective: wait longer (seconds)",
            "export HCCL_EXEC_TIMEOUT=3600",
            source="https://www.hiascend.com/document/detail/zh/CANNCommunityEdition/81RC1beta1/maintenref/envvar/envref_07_0078.html",
        ),
        Fix(
            "Where a rank is only late to the first connection: wait longer (seconds, at most 7200)",
            "export HCCL_CONNECT_TIMEOUT=1200",
            source="https://www.hiascend.com/document/detail/zh/canncommercial/850/maintenref/envvar/envref_07_0149.html",
        ),
    ],
    no_reproduction="needs two Ascend NPUs",
)
