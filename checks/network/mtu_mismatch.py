"""Network packets of one node are larger than the way to another one allows.

## What happens

Mostly nothing is said: ranks meet, small messages pass, and the first large collective hangs until the time-out. Tools
say "message too long, mtu=1450" or "Frag needed and DF set". Over RoCE or InfiniBand, NCCL since 2.20 may end with a
local length error, since it no longer takes the smaller of both sides' MTU.

## Why

- One node sends packets of 9000 bytes (jumbo frames), and a switch or the other node takes 1500.
- The way goes through a tunnel (VXLAN of a Kubernetes overlay, WireGuard, VPN) that needs a part of each packet for
  itself, and the interfaces were left at 1500.
- A firewall drops the ICMP messages by which the sender would learn it.

## How to tell

`grep . /sys/class/net/*/mtu` must say the same for the same interface on all nodes. `ping -c 3 -M do -s 8972 NODE`
(for 9000; 1472 for 1500: 28 bytes are headers) must answer. Over InfiniBand compare `active_mtu` of `ibv_devinfo`.

## See also

- [nccl#1524](https://github.com/NVIDIA/nccl/issues/1524): two servers with different MTU
- [nccl#1957](https://github.com/NVIDIA/nccl/issues/1957): packets of 4 KB on an interface with 1500
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"local error: [Mm]essage too long,? mtu ?[=:] ?(?P<mtu>\d+)",
        r"Frag(?:mentation)? needed and DF set(?: \(mtu ?= ?(?P<mtu>\d+)\))?",
        r"(?:NCCL|c10d|gloo/|UCX|[Ss]ocket).{0,200}: Message too long\b",
        r"\b(?:MTU|mtu) mismatch\b",
        r"mtu greater than device maximum",
    ],
    message=(
        "packets are larger than the network between the nodes allows[ (<mtu> bytes)]: small messages "
        "pass, large ones hang"
    ),
    fixes=[
        Fix("Compare the nodes", "grep . /sys/class/net/*/mtu"),
        Fix("Find the largest packet that passes", "tracepath NODE"),
        Fix(
            "Take an interface without the tunnel; `ip -br addr` lists them",
            "export NCCL_SOCKET_IFNAME=INTERFACE GLOO_SOCKET_IFNAME=INTERFACE",
        ),
        Fix(
            "Give all nodes and the switch between them one MTU",
            "sudo ip link set INTERFACE mtu 1500",
            Kind.ADMIN,
        ),
    ],
    no_reproduction="needs two hosts",
)
