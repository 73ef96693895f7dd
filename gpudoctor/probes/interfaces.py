"""List the network interfaces."""

import os
import socket

from gpudoctor.facts import Interface, Interfaces


def probe() -> Interfaces:
    """Read names, states and addresses (psutil), and whether a device stands behind each (sysfs)."""
    import psutil

    addresses = psutil.net_if_addrs()
    return Interfaces(
        all=[
            Interface(
                name=name,
                up=state.isup,
                addresses=[
                    a.address
                    for a in addresses.get(name, [])
                    if a.family in (socket.AF_INET, socket.AF_INET6)
                ],
                mtu=state.mtu or None,
                speed_mbps=state.speed or None,
                loopback="loopback" in state.flags,
                virtual=not os.path.exists(f"/sys/class/net/{name}/device"),
            )
            for name, state in psutil.net_if_stats().items()
        ]
    )
