"""gloo-device: seen in logs."""

MESSAGE = "a transport is asked for that this build of torch cannot use, so the ranks cannot connect"
EXAMPLES = {
    "[rank0]: RuntimeError: makeDeviceForHostname(): unsupported gloo device": MESSAGE,
    "RuntimeError: makeDeviceForInterface(): unsupported gloo device": MESSAGE,
    "RuntimeError: GlooDeviceFactory::makeTCPDevice(): interface or hostname can't be empty": (
        "a transport (TCP) is asked for that this build of torch cannot use, so the ranks cannot connect"
    ),
    "RuntimeError: use_libuv was requested but PyTorch was build without libuv support": MESSAGE,
    (
        "torch.distributed.DistStoreError: use_libuv was requested but PyTorch was built without libuv support, run with "
        "USE_LIBUV=0 to disable it."
    ): MESSAGE,
    (
        "RuntimeError: The libuv TCPStore backend does not support initialization with an listen fd. Please switch to the "
        'legacy TCPStore by setting environment variable USE_LIBUV to "0".'
    ): MESSAGE,
    "RuntimeError: Gloo was not compiled with ibverbs support.": (
        "a transport (ibverbs) is asked for that this build of torch cannot use, so the ranks cannot connect"
    ),
}
NOT_THIS = [
    (
        "RuntimeError: [enforce fail at ../third_party/gloo/gloo/transport/tcp/device.cc:84] ifa != nullptr. Unable to find "
        "address for: eth9"
    ),
    "NOTE: Redirects are currently not supported in Windows or MacOs.",
    "    use_libuv (bool, optional): If True, use libuv for ``TCPServer`` backend. Default is True.",
]
REST = " is asked for that this build of torch cannot use, so the ranks cannot connect"
