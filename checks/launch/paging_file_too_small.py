r"""Windows has no memory left to promise: the paging file is too small.

## What happens

"OSError: [WinError 1455] The paging file is too small for this operation to complete. Error loading ...\torch\lib\...dll", in
the main process or in a worker; "Couldn't open shared file mapping: <torch_...>, error code: <1455>" when a worker hands over a
batch; "(os error 1455)" when a file of safetensors is opened. Memory may look free meanwhile, and so may the GPU.

## Why

Windows promises memory before it is used, and refuses when the promises reach its limit: the memory plus the paging file.

- Every worker of a DataLoader and every process of `mp.spawn` starts anew on Windows and imports torch: CUDA's libraries alone are
  promised up to some gigabytes for each of them, used or not.
- Workers x ranks x prefetch_factor batches are shared between processes.
- A checkpoint is larger than what is left. On a GPU too it is read into the host's memory first.

It is no broken installation, though the message names a library: the next one that is loaded might be another.

## How to tell

Task Manager, Performance, Memory: *Committed* shows what is promised and the limit. Start the training with `num_workers=0`: if it
runs, there were too many processes.

## See also

- [pytorch#31874](https://github.com/pytorch/pytorch/issues/31874): error code 1455 after many epochs
- [System error codes 1300-1699](https://learn.microsoft.com/en-us/windows/win32/debug/system-error-codes--1300-1699-): 1455, ERROR_COMMITMENT_LIMIT
- [stackoverflow.com, question 64837376](https://stackoverflow.com/questions/64837376): what CUDA's libraries have promised in each process
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"(?P<loading>\[WinError 1455\]).{1,200}? Error loading",
        r"\[WinError 1455\](?!.{1,200}? Error loading)",
        r"\(os error 1455\)",
        r"(?P<mapping>Couldn't open shared file mapping: <\w{1,80}>, error code: <1455>)",
        r"^(?!.*\b1455\b).{0,200}The paging file is too small for this operation to complete",
    ],
    message=(
        "Windows refused memory, since all that it may promise, memory and paging file, is promised already"
        "[; a library of torch only happened to be next: <loading>][; a worker could not hand over a batch: <mapping>]"
    ),
    fixes=[
        Fix(
            "Start fewer workers: each of them imports torch",
            "DataLoader(dataset, batch_size=32, num_workers=0)",
            Kind.EDIT,
        ),
        Fix(
            "Enlarge the paging file (System, Advanced system settings, Performance, Advanced, Virtual memory), on a disk with room, "
            "and start Windows again",
            kind=Kind.ADMIN,
        ),
        Fix("Close other programs and notebooks that have torch loaded: what they were promised counts too"),
    ],
    no_reproduction="needs Windows",
)
