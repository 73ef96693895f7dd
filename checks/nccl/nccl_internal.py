"""NCCL failed and names no more than a class of error.

## What happens

"NCCL error in: …ProcessGroupNCCL.cpp:784, unhandled cuda error, NCCL version 2.7.8", or "unhandled system error",
"internal error", "invalid usage"; with torch 2.15 "NCCL AllReduce failed" or "Failed to initialize NCCL communicator".

## Why

The line says only who failed. The reason is a line of its own: after "Last error:", or with "NCCL WARN", in the
output of the rank that failed first. Without one, in this order:

- "invalid usage": two ranks use the same GPU (`nccl-duplicate-gpu`).
- "unhandled system error": /dev/shm is too small (`shm-too-small`), or the network (`nccl-interface`).
- "unhandled cuda error": the GPU's memory is full, peer access (`nccl-p2p`), the driver, or an error of an earlier
  kernel.
- "internal error": no interface, or different versions of NCCL on the nodes.

## How to tell

Run once more with `NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV NCCL_DEBUG_FILE=nccl.%h.%p.log`, and read the first
"NCCL WARN" of each file. If an all-reduce of one number fails too, it is the machine and not the program.

## See also

- [NCCL: errors](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/runtime_and_mpi_issues.html): what each class of error says
- [NCCL_DEBUG](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-debug): WARN prints the reason of each failure, INFO all of the setup
"""

from gpudoctor import Check, Fix, Severity, Symptom

ERROR = r"(?P<error>unhandled (?:cuda|hip|system) error|internal error|invalid (?:usage|argument)|unknown result code)"
# torch, DataParallel, DDP's buckets, nccl-tests, TensorFlow, and torch 2.15
HEAD = r"NCCL (?:error in: ?\S{1,200}?,? ?|[Ee]rror ?\d{0,2}: |failure \S{1,80} '|operation failed: )"
# What CUDA says, where the file does not tell more: in p2p.cc and nvls.cc it does.
CUDA = r"(?:Cuda|HIP) failure (?:\d+ )?'(?P<error>invalid argument|invalid resource handle|named symbol not found|operation not permitted)'"
WHAT = r"(?:AllReduce|Broadcast|Reduce|AllGather|ReduceScatter|AllToAll|Barrier|Send|Recv|GroupStart|GroupEnd|split)"
# The line below "Last error:"; it may be empty, and then other things follow.
SAID = r" ?\n? ?(?P<said>(?!Traceback|Exception|frame #|[\w.]{1,80}(?:Error|Exception)\b|\[|\S{1,80}:\d+:\d+)[^\n]{4,160})"
OTHER = r"[Oo]peration timed out|remote process (?:exited|exiting)"

check = Check(
    severity=Severity.ERROR,
    secondary=True,
    symptoms=[
        Symptom(rf"{HEAD}{ERROR}", near=rf"{HEAD}{ERROR}[\s\S]{{0,500}}?\nLast error:{SAID}"),
        # until torch 1.13, and where the reason was printed before
        Symptom(
            rf"{HEAD}{ERROR}", near=rf"NCCL WARN (?P<warned>[^\n]{{4,160}})[\s\S]{{0,4000}}?{HEAD}{ERROR}"
        ),
        rf"{HEAD}{ERROR}",
        r"(?:RuntimeError|DistBackendError): NCCL error in: \S{0,200}$",  # cut off
        r"NCCL error in: \S{0,200}NCCL\w{0,8}\.[ch]pp:\d+, (?!remote)[a-z ]+$",  # retyped
        rf"\bNCCL: {ERROR}",
        r"ncclUnhandledCudaError: Call to CUDA|ncclSystemError: System call|ncclInternalError: Internal check failed",
        r"ncclInvalidUsage: This usually reflects|ncclInvalidArgument: Invalid value for an argument",
        # nccl2 of torch 2.15; a time-out and a peer that is gone have words of their own
        Symptom(rf"NCCL {WHAT} failed(?: in \w+)?(?!\w)(?: ?: {ERROR})?", unless=OTHER),
        Symptom(
            rf"Failed to (?:initialize NCCL communicator|get NCCL unique ID)(?: ?: {ERROR})?", unless=OTHER
        ),
        r"XML Import Channel : dev \d+ not found",  # the description of the network that NCCL made of its cards
        r"Last error: ?Unknown NCCL Error|\bUnknown NCCL error!",
        rf"(?<!nvls)(?<!p2p)\.(?:cc|cu|h|c):\d+(?: \(\w+\))? NCCL WARN {CUDA}",
        rf"(?<!WARN )\b{CUDA}",
        # the way of an error through NCCL ends in the thread that sets a communicator up; 7 is "in progress"
        r"NCCL INFO (?:\S{1,60}/)?group\.cc:\d+ -> [1-6] \[Async thread\]",
        r"\[enforce fail at .{0,200}\bncclSuccess\. [1-9] vs 0",  # Caffe2
        rf"\bNCCL failure:? {ERROR}",  # nccl-tests, DeepBench
        r"\bNCCL_ERROR_(?:UNHANDLED_CUDA|SYSTEM|INTERNAL|INVALID_\w+)_ERROR\b|NcclError: NCCL_ERROR_\w+",  # cupy
    ],
    message="NCCL failed[ with '<error>'], and this line does not say of what[; its last error: <said>]"
    "[; it had warned: <warned>]",
    fixes=[
        Fix(
            "Run once more and let NCCL say what it is",
            "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV NCCL_DEBUG_FILE=nccl.%h.%p.log "
            "torchrun --nproc-per-node=N train.py; grep -h 'NCCL WARN' nccl.*.log",
        ),
        Fix(
            "Try one collective without the program",
            "torchrun --standalone --nproc-per-node=N --no-python python -c 'import os, torch, torch.distributed as d; "
            'torch.cuda.set_device(int(os.environ["LOCAL_RANK"])); d.init_process_group("nccl"); '
            "x = torch.ones(1).cuda(); d.all_reduce(x); print(x)'",
        ),
        Fix(
            "Keep every rank's output: the first one that failed has the reason",
            "torchrun --log-dir=logs --tee=3 --nproc-per-node=N train.py",
        ),
    ],
    no_reproduction="needs a GPU, and a fault inside of NCCL",
)
