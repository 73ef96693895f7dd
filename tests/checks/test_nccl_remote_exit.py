"""nccl-remote-exit: seen in logs."""

MESSAGE = "the process at the other end is gone; its own output says why"
EXAMPLES = {
    "torch.distributed.DistNetworkError: Failed to send, sent 0 bytes. Connection was likely closed. Did the remote server shutdown or crash?": (
        "the process at the other end is gone; its own output says why"
    ),
    "node0:4711:4790 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer node1.cluster<51159>": (
        "the process at the other end (node1.cluster) is gone; its own output says why"
    ),
    "node0:4711:4790 [0] misc/socket.cc:523 NCCL WARN Net : Connection closed by remote peer": MESSAGE,
    "node0:47:49 [0] include/socket.h:371 WARN Connection closed by remote peer": MESSAGE,
    "[rank0]: ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.": MESSAGE,
    "RuntimeError: NCCL error: remote process exited or there was a network error, NCCL version 2.20.5": MESSAGE,
    "node0:4711:4790 [0] include/socket.h:430 NCCL WARN Net : Call to recv from 10.0.0.4<53002> failed : Connection reset by peer": (
        "the process at the other end (10.0.0.4) is gone: Connection reset by peer; its own output says why"
    ),
    "node0:4711:4790 [0] include/socket.h:430 NCCL WARN Call to write failed : Broken pipe": (
        "the process at the other end is gone: Broken pipe; its own output says why"
    ),
    (
        "[2026-09-01 08:30:11] node0:812:860 [0] os/linux.cc:70 (ncclOsSocketProgressOpt) NCCL WARN ncclOsSocketProgressOpt: Call to send "
        "10.0.0.4<53002> failed : Broken pipe"
    ): "the process at the other end (10.0.0.4) is gone: Broken pipe; its own output says why",
    "NET/IB : Got completion from peer 10.0.0.2<38560> with status=5 opcode=0 len=0 vendor err 249 (Send)": (
        "the process at the other end (10.0.0.2) is gone; its own output says why"
    ),
    "NET/IB: Got completion from peer 10.0.0.2<38560> with status=IBV_WC_WR_FLUSH_ERR(5) opcode=IBV_WC_SEND(0) vendor_err=249 (Send)": (
        "the process at the other end (10.0.0.2) is gone; its own output says why"
    ),
    "node0:4711:4790 [0] proxy.cc:1143 NCCL WARN Socket recv failed while polling for opId=0x55a51966cc80": MESSAGE,
    "node0:4711:4790 [0] proxy.cc:1519 NCCL WARN [Proxy Service 3] Failed to execute operation Setup from rank 3, retcode 1": MESSAGE,
    "node0:4711:4790 [0] proxy.cc:862 NCCL WARN Proxy Call to rank 14 failed (Connect)": (
        "the process at the other end (rank 14) is gone; its own output says why"
    ),
    "node0:4711:4790 [0] proxy.cc:1200 NCCL WARN ncclProxyClientGetFd call to tpRank 1 handle 0x7f03 failed : 3": (
        "the process at the other end (rank 1) is gone; its own output says why"
    ),
    "RuntimeError: NCCL communicator was aborted on rank 1.": MESSAGE,
    "RuntimeError: NCCL communicator was aborted after a previous error": MESSAGE,
    "[rank1]:[E ProcessGroupNCCL.cpp:700] [Rank 1]  remote error detected from rank: 3": (
        "the process at the other end (rank 3) is gone; its own output says why"
    ),
    "Async error on rank 3": MESSAGE,
    (
        "[3] is setting up NCCL communicator and retreiving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') "
        "got error: Connection reset by peer. This may indicate a possible application crash on rank 0 or a network set up issue."
    ): "the process at the other end is gone: Connection reset by peer; its own output says why",
    "[rank4]:[W TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=4, addr=[node2]:48692, remote=[node1]:29500): Broken pipe": (
        "the process at the other end is gone: Broken pipe; its own output says why"
    ),
    (
        "[rank4]:[W TCPStore.cpp:106] [c10d] sendBytes failed on SocketImpl(fd=4, addr=[node2]:48692, remote=[node1]:29500): failed to recv, "
        "got 0 bytes"
    ): MESSAGE,
    "torch.distributed.DistNetworkError: Failed to recv, got 0 bytes. Connection was likely closed. Did the remote server shutdown or crash?": MESSAGE,
    (
        '[rank5]:[W ProcessGroupNCCL.cpp:1250] [PG ID 0 PG GUID 0 Rank 5] Failed to check the "should dump" flag on TCPStore, (maybe TCPStore '
        "server has shut down too early), with error: Broken pipe"
    ): MESSAGE,
}
NOT_THIS = [
    '    dist.init_process_group("gloo")\ntorch.distributed.DistNetworkError: Failed to recv, got 0 bytes. Connection was',
    "node0:4711:4790 [0] NCCL INFO [Service thread] Connection closed by localRank 0",
    "node0:4711:4790 [0] NCCL INFO misc/socket.cc:47 -> 6",
    "RuntimeError: [gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.2]:3121",
    "NET/IB : Got completion from peer 10.0.0.2<38560> with status=12 opcode=0 len=0 vendor err 129 (Send)",
    "node0:4711:4790 [0] NCCL INFO socketFinalizeAccept: peer 10.0.0.9<5> closed before magic handshake, discarding",
    "[PG ID 0 PG GUID 0 Rank 0] ProcessGroupNCCL initialization options: size: 8, global rank: 0",
]
