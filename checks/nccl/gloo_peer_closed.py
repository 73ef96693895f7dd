"""The gloo connection to another rank ended: that rank is gone.

## What happens

`RuntimeError: [… gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.2]:3121`, "Read error …: Connection
reset by peer", or "writev …: Broken pipe"; from the store that rank 0 or torchrun keeps, "Failed to recv, got
0 bytes". All other ranks report it at about the same time.

## Why

The rank at that address ended, and its operating system closed its connections. This line is a consequence, not the cause:

- It raised an exception, was killed (`host-oom-killed`), or crashed (`child-segfault`).
- It came to the end of the program while this rank still called a collective: see `rank-desync`.
- It called another collective and gloo ended it: see `collective-mismatch`.
- Rarely, the network between the two machines was cut.

## How to tell

Look at the output of the rank at the address in the message: its first error or exit code is the cause. A rank whose
output shows no such line is the one that went first. `grep -rnE 'Error|exitcode|Killed' logs` finds it in the folder that
`--log-dir=logs` wrote.

## See also

- [torchrun](https://docs.pytorch.org/docs/stable/elastic/run.html#important-notices): each node's first error is reported as the root cause
- [pair.cc](https://github.com/pytorch/gloo/blob/main/gloo/transport/tcp/pair.cc): where gloo says so
"""

from gpudoctor import Check, Fix, Kind, Severity, Symptom
from gpudoctor.wordings import A_FRAME

PEER = r"\[(?P<peer>[\w.:%]+)\]:\d+"

check = Check(
    severity=Severity.ERROR,
    secondary=True,
    elsewhere=True,
    follows=["collective-in-branch", "collective-mismatch", "rank-zero-only-name"],
    symptoms=[
        rf"Connection closed by peer {PEER}",
        rf"\b(?:Read|Write) error {PEER}: ",
        rf"\bwritev? {PEER}: (?:Broken pipe|Connection reset by peer)",
        rf"gloo/transport/\w+/\w+\.cc:\d+\] (?:Socket (?:unexpectedly )?closed|Pair is not connected)(?: ?\(?{PEER})?",
        rf"gloo/transport/\w+/\w+\.cc:\d+\] connect (?!\[(?:127\.|172\.1[78]\.|192\.168\.122\.|169\.254\.)){PEER}: Connection refused",
        r"gloo::IoException.{0,200}(?:Connection closed|Connection reset|Broken pipe)",
        Symptom(
            r"RuntimeError: (?:Connection reset by peer|Broken pipe)$",
            near=r"[Gg]loo|init_process_group|torch[/\\]distributed",
        ),
        # the line alone: c10d raises this as a RuntimeError, Python's own sockets never do
        Symptom(r"RuntimeError: (?:Connection reset by peer|Broken pipe)$", unless=A_FRAME),
        # torchrun started ranks again, and they read the address of one that had ended with the try before
        Symptom(
            rf"connectFullMesh failed with .{{0,200}}Connection refused, remote={PEER}",
            near=r"Sending process \d+ closing signal|failed \(exitcode: -?\d+\) local_rank: ",
        ),
        r"an error of type RendezvousConnectionError",
        # the store of rank 0 or of torchrun, in a run without NCCL
        Symptom(
            r"\b(?:recv|send|waitForInput)\w* failed on SocketImpl\(.{0,200}\): |[Ff]ailed to (?:recv, got|send, sent) 0 bytes",
            near=r"\A(?![\s\S]*[Nn][Cc][Cc][Ll])[\s\S]*\b[Gg]loo",
        ),
        # tensorpipe, under torch.distributed.rpc
        r"RPCErr:\d+:.{0,120}(?:: eof|pipe closed|connection reset by peer) \(this error originated at tensorpipe",
    ],
    message=(
        "the connection[ to the rank at <peer>] ended, because that process did: what ended it is in "
        "its own output"
    ),
    fixes=[
        Fix(
            "Keep every rank's output, and read that of the rank which ended first",
            "torchrun --log-dir=logs --redirects=0 --tee=3 --nproc-per-node=N train.py",
        ),
        Fix(
            "Let a worker hand its exception to torchrun's summary",
            "from torch.distributed.elastic.multiprocessing.errors import record\n\n\n@record\ndef main(): ...",
            Kind.EDIT,
        ),
        Fix(
            "Where a rank has fewer batches than the others, it ends first: give all the same number",
            "DataLoader(dataset, sampler=DistributedSampler(dataset, drop_last=True), drop_last=True)",
            Kind.EDIT,
        ),
        Fix(
            "Where all have made the same calls, and a rank ends before the others: let all wait at the end",
            "dist.barrier()\ndist.destroy_process_group()",
            Kind.EDIT,
            proof="dist.barrier()",
        ),
    ],
)
