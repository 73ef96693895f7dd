"""The RDMA adapters of a healthy machine: one for each GPU, and on bare metal two more for storage."""

from gpudoctor.facts import Gid, IbDevice, IbPort, Infiniband
from tests.scenarios.machine import Machine

V1, V2 = "IB/RoCE v1", "RoCE v2"


def port(machine: Machine) -> IbPort:
    """Return an active port of the machine's kind of network."""
    up = IbPort(
        state="ACTIVE", phys_state="LinkUp", rate_gbps=400, lanes=4, speed="NDR", link_layer="InfiniBand"
    )
    gids = [Gid(index=0, type=V1, kind="link-local")]
    if machine.efa:
        return IbPort(
            state="ACTIVE", phys_state="LinkUp", rate_gbps=100, lanes=4, speed="EDR", link_layer="Unspecified"
        )
    if machine.roce:
        gids += [
            Gid(index=1, type=V2, kind="link-local", interface="eth2"),
            Gid(index=2, type=V1, kind="ipv4", interface="eth2"),
            Gid(index=3, type=V2, kind="ipv4", interface="eth2"),
        ]
        return IbPort(
            state="ACTIVE",
            phys_state="LinkUp",
            rate_gbps=200,
            lanes=4,
            speed="HDR",
            link_layer="Ethernet",
            gids=gids,
            counters={"out_of_sequence": 48211, "local_ack_timeout_err": 12},
        )
    return IbPort(
        state=up.state,
        phys_state=up.phys_state,
        rate_gbps=up.rate_gbps,
        lanes=4,
        speed="NDR",
        link_layer="InfiniBand",
        gids=gids,
        counters={"link_downed": 1, "port_xmit_discards": 7},
    )


def facts(machine: Machine) -> Infiniband:
    """Return the adapters; the storage card's second port has no cable."""
    if not machine.infiniband:
        return Infiniband(peermem=False, uptime_days=30)
    name, driver, model = ("rdmap", "efa", "") if machine.efa else ("mlx5_", "mlx5_core", "MT4129")
    found = [
        IbDevice(
            name=f"{name}{n}",
            driver=driver,
            model=model,
            board="" if machine.efa else "MT_0000000838",
            pci_address=f"0000:{0x10 + n:02x}:00.0",
            ports=[port(machine)],
        )
        for n in range(machine.infiniband)
    ]
    if not machine.virtual:
        for half, state in enumerate(("ACTIVE", "DOWN")):
            physical = "LinkUp" if state == "ACTIVE" else "Disabled"
            ethernet = IbPort(
                state=state, phys_state=physical, rate_gbps=100, lanes=4, speed="EDR", link_layer="Ethernet"
            )
            found.append(
                IbDevice(
                    name=f"mlx5_{machine.infiniband + half}",
                    driver="mlx5_core",
                    model="MT4125",
                    board="MT_0000000359",
                    pci_address=f"0000:a0:00.{half}",
                    ports=[ethernet],
                )
            )
    return Infiniband(
        devices=found,
        verbs=[f"uverbs{n}" for n in range(len(found))],
        libibverbs=True,
        peermem=not machine.efa,
        uptime_days=30,
    )
