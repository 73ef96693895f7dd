"""gloo-peer-closed: seen in logs."""

MESSAGE = "the connection ended, because that process did: what ended it is in its own output"
EXAMPLES = {
    "[rank2]: RuntimeError: Connection reset by peer": MESSAGE,
    (
        "W1124 06:24:02.654000 26424 torch/distributed/elastic/multiprocessing/api.py:1028] Sending process 26448 closing "
        "signal SIGTERM\nRuntimeError: Gloo connectFullMesh failed with [gloo/transport/tcp/pair.cc:152] timed "
        "out connecting: SO_ERROR: Connection refused, remote=[127.0.0.1]:41370$0"
    ): (
        "the connection to the rank at 127.0.0.1 ended, because that process did: what ended it is in its own "
        "output"
    ),
    (
        "[rank0]: RuntimeError: [/__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:561] Connection closed by "
        "peer [127.0.0.1]:386. This is typically caused by a remote worker crashing. Check the logs of the remote worker "
        "before reporting an error. GLHF!"
    ): (
        "the connection to the rank at 127.0.0.1 ended, because that process did: what ended it is in its own "
        "output"
    ),
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.2]:3121": (
        "the connection to the rank at 10.0.0.2 ended, because that process did: what ended it is in its own "
        "output"
    ),
    (
        "[1]: gloo::IoException [/horovod/third_party/gloo/gloo/transport/tcp/pair.cc:575] Connection closed by peer "
        "[fe80::1]:5005"
    ): MESSAGE,
    (
        "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:589] Read error [10.0.0.2]:46478: Connection reset "
        "by peer"
    ): (
        "the connection to the rank at 10.0.0.2 ended, because that process did: what ended it is in its own "
        "output"
    ),
    "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:309] writev [10.0.0.2]:1234: Broken pipe": (
        "the connection to the rank at 10.0.0.2 ended, because that process did: what ended it is in its own "
        "output"
    ),
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/buffer.cc:70] Socket closed [10.0.0.2]:1234": (
        "the connection to the rank at 10.0.0.2 ended, because that process did: what ended it is in its own "
        "output"
    ),
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:71] Pair is not connected ([10.0.0.3]:1234)": (
        "the connection to the rank at 10.0.0.3 ended, because that process did: what ended it is in its own "
        "output"
    ),
    "terminate called after throwing: gloo::IoException what(): Broken pipe": MESSAGE,
    "RuntimeError: RPCErr:1:worker1: eof (this error originated at tensorpipe/transport/shm/connection_impl.cc:259)": MESSAGE,
    '  File "/opt/conda/lib/python3.6/site-packages/torch/distributed/distributed_c10d.py", line 360, in init_process_group\nRuntimeError: Connection reset by peer': MESSAGE,
    "The node 'node1_3140_0' has failed to shutdown the rendezvous '4711' due to an error of type RendezvousConnectionError.": MESSAGE,
    (
        '    dist.init_process_group("gloo")\n'
        "torch.distributed.DistNetworkError: Failed to recv, got 0 bytes. Connection was likely closed. Did the remote server "
        "shutdown or crash?"
    ): MESSAGE,
    "RuntimeError: [/work/third_party/gloo/gloo/transport/tcp/pair.cc:799] connect [10.31.71.170]:13195: Connection refused": (
        "the connection to the rank at 10.31.71.170 ended, because that process did: what ended it is in its "
        "own output"
    ),
}
NOT_THIS = [
    "node1:4711:4790 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer node2<51159>",
    "requests.exceptions.ConnectionError: ('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))",
    "ConnectionResetError: [Errno 104] Connection reset by peer",
    (
        "[W TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=4, addr=[node2]:48692, remote=[node1]:29500): "
        "Connection reset by peer"
    ),
    "OSError: Read error while decoding image 17",
]
