"""gloo-interface: seen in logs."""

EXAMPLES = {
    (
        "[rank0]: RuntimeError: [enforce fail at /__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/device.cc:84] "
        "ifa != nullptr. Unable to find address for: eth9"
    ): "gloo has no way to the other ranks: no interface eth9 with an address",
    (
        "  what():  [enforce fail at ../third_party/gloo/gloo/transport/tcp/device.cc:83] ifa != nullptr. Unable to find "
        "address for: ^lo"
    ): "gloo has no way to the other ranks: no interface ^lo with an address",
    "RuntimeError: [enforce fail at gloo/transport/ibverbs/device.cc:60] Unable to find interface for: mlx9_0": (
        "gloo has no way to the other ranks: no interface mlx9_0 with an address"
    ),
    (
        "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:799] connect [172.17.0.2]:33445: Connection "
        "refused"
    ): "gloo has no way to the other ranks: it tried 172.17.0.2",
    "timed out connecting: SO_ERROR: Connection refused, remote=[192.168.122.1]:14215": (
        "gloo has no way to the other ranks: it tried 192.168.122.1"
    ),
    "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:799] connect [10.8.0.2]:33445: No route to host": (
        "gloo has no way to the other ranks: it tried 10.8.0.2, No route to host"
    ),
    (
        "torchrun --nproc-per-node=2 train.py\n"
        "RuntimeError: Gloo connectFullMesh failed with [gloo/transport/tcp/pair.h:311] Connect timeout [none]"
    ): "gloo has no way to the other ranks",
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:144] Connect timeout [10.8.0.1]:33445": (
        "gloo has no way to the other ranks: it tried 10.8.0.1"
    ),
    (
        "RuntimeError: In connectFromLoop at tensorpipe/transport/uv/uv.h: EADDRNOTAVAIL: address not available (this error "
        "originated at tensorpipe/transport/uv/context.cc)"
    ): "gloo has no way to the other ranks",
}
NOT_THIS = [
    "RuntimeError: Gloo connectFullMesh failed with [gloo/transport/tcp/pair.h:311] Connect timeout [none]",
    "node1:4711:4790 [0] bootstrap.cc:37 NCCL WARN Bootstrap : no socket interface found",
    "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:769] connect [127.0.1.1]:60471: Connection refused",
    (
        "RuntimeError: [enforce fail at ../third_party/gloo/gloo/transport/tcp/device.cc:127] rp != nullptr. Unable to find "
        "address for: node-1.example"
    ),
    "RuntimeError: [../gloo/transport/tcp/pair.cc:598] Connection closed by peer [172.17.0.2]:33212",
]
