"""Another rank ended, or the connection to it broke.

## What happens

"socketProgress: Connection closed by remote peer node1<51159>", "ncclRemoteError: … a remote process exiting
prematurely", "Call to recv from 10.0.0.4<53002> failed : Connection reset by peer", or from the store "recvValue failed
on SocketImpl … Connection reset by peer".

## Why

This rank is fine: the one at the other end is gone.

- It raised, was killed, or crashed; that is the failure to repair.
- The scheduler or torchrun ended it, because a third rank had failed before.
- It left the training loop earlier and exited, while this one still waited for it.
- Rarely, the network: a firewall forgets idle connections, or a link went down.

## How to tell

Search the output of all ranks for the earliest `Traceback`, `Error`, `Killed` or signal. The peer's address in `<…>` or
its rank says where to begin: on that node, `sudo dmesg -T | grep -iE 'out of memory|xid|segfault'`.

## See also

- [ncclResult_t](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api/types.html#ncclresult-t): ncclRemoteError: the network, or a process that ended
- [nccl#2076](https://github.com/NVIDIA/nccl/issues/2076): ncclRemoteError; the InfiniBand of some nodes was at fault
"""

from gpudoctor import Check, Fix, Kind, Severity, Symptom

PEER = r"(?P<peer>[^\s<>]{1,80})"
REASON = r"(?P<reason>[A-Z][a-z]+(?: \w+){0,5})"

GLOO = r"\A(?![\s\S]*[Nn][Cc][Cc][Ll])[\s\S]*\b[Gg]loo"

check = Check(
    severity=Severity.ERROR,
    secondary=True,
    elsewhere=True,
    follows=["collective-in-branch", "collective-mismatch", "rank-zero-only-name"],
    symptoms=[
        rf"Connection closed by remote peer(?: {PEER})?",
        r"ncclRemoteError: A call failed possibly due to a network error",
        r"remote process exited or there was a network error",
        rf"\bCall to (?:recv|send|read|write)(?: (?:from|to))?(?: {PEER}(?:<\d+>)?)? failed ?: {REASON}",
        # a flushed transfer: the connection was broken before
        r"Got completion (?:from peer (?P<peer>[^\s<>]{1,80})\S* )?with (?:error |status=)(?:IBV_\w+\()?5\b",
        r"Socket recv failed while polling for opId=",
        r"\[Proxy Service \d+\] Failed to execute operation \w+ from rank \d+",
        r"Proxy Call to rank (?P<other>\d+) failed",
        r"\bncclProxy(?:ClientGetFd|ClientQueryFdBlocking|CallBlockingUDS) call to tpRank (?P<other>\d+)\b.{0,60} failed",
        r"NCCL communicator was aborted\b(?!.{0,80}Original reason for failure was:.{0,400}tim(?:eout|ed out))",
        r"\bremote error detected from rank:? ?(?P<other>\d+)",
        r"\bAsync error on rank \d+",  # torch 2.15
        r"retr(?:ie|ei)ving ncclUniqueIds? from .{0,200}?got error: (?!Socket Timeout|[Ww]ait timeout|Timeout waiting for key)(?P<reason>[^.]{1,120})",
        # the store; in a run of gloo it is gloo-peer-closed
        Symptom(
            rf"\b(?:recv|send|waitForInput)\w* failed on SocketImpl\(.{{0,200}}\): {REASON}", unless=GLOO
        ),
        Symptom(
            r"(?:(?:recv|send|waitForInput)\w* failed on SocketImpl\(.{0,200}\): )?[Ff]ailed to (?:recv, got|send, sent) 0 bytes",
            unless=GLOO,
        ),
        r"Failed to check the .should dump. flag on TCPStore",
    ],
    message="the process at the other end[ (<peer>)][ (rank <other>)] is gone[: <reason>]; its own output says why",
    fixes=[
        Fix(
            "Keep every rank's output, and look for the first one that failed",
            "torchrun --log-dir=logs --redirects=0 --tee=3 --nproc-per-node=N train.py",
        ),
        Fix(
            "Let no rank leave before the others have finished: after the training, not in a finally",
            "dist.barrier()\ndist.destroy_process_group()",
            Kind.EDIT,
        ),
        Fix(
            "See whether the kernel ended that rank, or its GPU failed",
            "sudo dmesg -T | grep -iE 'out of memory|killed process|xid|segfault'",
            Kind.ADMIN,
        ),
        Fix(
            "Where a firewall drops idle connections: let the kernel keep them alive",
            "sudo sysctl net.ipv4.tcp_keepalive_time=60",
            Kind.ADMIN,
        ),
    ],
)
