"""gloo-device: in logs and in facts."""

from gpudoctor.facts import Host, Launch, Torch
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

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


def run(**facts):
    return examine(Registry().check("gloo-device"), Source.ENVIRONMENT, Snapshot(facts))


def transport(value):
    return Launch(variables={"GLOO_DEVICE_TRANSPORT": value})


def test_no_such_transport():
    for host, value in ((Host(system="Linux"), "tcp"), (Host(system="Darwin"), "TCP")):
        _, [finding] = run(launch=transport(value), host=host)
        assert finding.severity is Severity.ERROR


def test_one_that_wheels_do_not_have():
    _, [finding] = run(launch=transport("TCP_TLS"), host=Host(system="Linux"))
    assert finding.severity is Severity.WARNING


def test_passes():
    for facts in (
        {"launch": Launch()},
        {"launch": transport("TCP")},
        {"launch": transport("UV"), "host": Host(system="Darwin")},
        {"launch": transport("x"), "torch": Torch(gloo_available=False)},
    ):
        assert run(**facts)[0].status is CheckStatus.PASSED, facts


def test_unknown():
    assert run()[0].status is CheckStatus.UNKNOWN
