"""The log shows a failure that gpudoctor does not know.

## What happens

An exception ended the training, and it is none of the catalogue. gpudoctor quotes it: the first one in time, the rank
that raised it, and the last line of the user's own code above it. What other ranks say later mostly follows from it.

## Why

Most such errors have nothing to do with several GPUs: a wrong shape, a name that does not exist, a value that a library
refuses. They would end the script with one process too. Some are failures of multi-GPU training that nobody has put
into the catalogue yet.

## How to tell

Read from the first exception on, not from the last: torchrun's summary and NCCL's time-outs come after it. Where one
exception was raised "during handling of" another, the upper one is the reason. If one process on one GPU, with the same
data, fails alike, the cause is in the script; if it does not, it is in what the ranks do together.

## See also

- [Error propagation](https://docs.pytorch.org/docs/stable/elastic/errors.html): keep each rank's own exception
- [torchrun](https://docs.pytorch.org/docs/stable/elastic/run.html): `--log-dir` and `--tee` keep each rank's output
"""

from gpudoctor import Check, Fix, Severity

check = Check(
    severity=Severity.ERROR,
    fixes=[
        Fix("Read the traceback from the first exception on, beginning at the last line of your own code"),
        Fix(
            "Run it with one process on one GPU: what fails there too is not about several GPUs",
            "CUDA_VISIBLE_DEVICES=0 torchrun --standalone --nproc-per-node=1 train.py",
        ),
        Fix(
            "If only several ranks fail, keep the output of each",
            "torchrun --log-dir=logs --tee=3 --nproc-per-node=N train.py",
        ),
        Fix(
            "When you ask for help, attach what gpudoctor knows of the machine and the log",
            "gpudoctor report --log LOG -o ticket.md",
        ),
    ],
    no_reproduction="it is what no check knows",
)
