"""An earlier training still holds the Ascend NPUs.

## What happens

On Ascend NPUs the first collective or barrier fails with "HCCL error" or "hcclCommInitRootInfoConfig", and below it is
"EJ0001: Failed to initialize the HCCP process. Reason: Maybe the last training process is running."

## Why

HCCL, which does the collectives, starts a helper on each NPU, HCCP, and there can be one for a device.

- Processes of a training that was stopped with Ctrl-C or killed are still there, most often DataLoader workers or ranks
  that did not end.
- It was started again within some 10 seconds: the driver has not tidied up yet.
- Two jobs, or two containers, were given the same NPUs, or a server for inference runs on them.

## How to tell

`npu-smi info` lists the processes of each NPU; those of other containers may be missing there. Where none is left and it fails
again a minute later, it is not this.

## See also

- [LLaMA-Factory#3839](https://github.com/hiyouga/LlamaFactory/issues/3839): the whole message, in a training on 4 NPUs
- [verl#332](https://github.com/verl-project/verl/pull/332): the same with newer versions, under Ray
"""

from gpudoctor import Check, Fix, Kind, Severity, Symptom

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"Failed to initialize the HCCP process",
        # the exception in front of it
        Symptom(r"\bHCCL (?:function )?error(?: in)?: ", near=r"Failed to initialize the HCCP process"),
    ],
    message="HCCL could not start its helper on an NPU: mostly processes of an earlier training still hold it",
    fixes=[
        Fix(
            "See which processes are on the NPUs; end those of your own that are old, and wait 10 seconds",
            "npu-smi info; ps -o user,ppid,lstart,cmd -p PID; kill PID",
            source="https://github.com/hiyouga/LlamaFactory/issues/3839",
        ),
        Fix(
            "Find ranks and workers of your own that did not end",
            "ps -e -o user,pid,ppid,lstart,cmd | grep python",
        ),
        Fix(
            "Where the processes are another user's, or the NPUs are given out twice: send the administrators this",
            "npu-smi info",
            Kind.ADMIN,
        ),
    ],
    no_reproduction="needs an Ascend NPU",
)
