"""A network interface is down, or the address that was asked for is on none.

## What happens

The kernel logs "NIC Link is Down" or "link status definitely down for interface eth1", and the job's connections fail
with "Network is down", or hang until the time-out. A server that is told to open an address that no interface has
fails with "Cannot assign requested address".

## Why

- A cable, a transceiver or the switch's port failed, or the link flaps for a moment: enough to end a job over RoCE.
- The interface was never configured after a restart, or lost its address to DHCP.
- NCCL_SOCKET_IFNAME or GLOO_SOCKET_IFNAME names an interface that exists and is down.
- MASTER_ADDR is the address of another machine than the one that runs rank 0.

docker0 and other bridges with nothing attached are DOWN all the time, and that is harmless.

## How to tell

`ip -br link; ip -br addr` on each node: the interface must be UP and have its address. Compare the time of the kernel's
line in `sudo dmesg -T | grep -i link` with that of the job's first error. `ethtool INTERFACE` says "Link detected".

## See also

- [NCCL: networking troubleshooting](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/networking_troubleshooting.html): what NCCL does with interfaces that cannot talk
"""

from gpudoctor import Check, Fix, Kind, Severity

# Bridges and virtual ends go down with each container.
NAME = r"(?P<interface>(?!docker|veth|virbr|br-|lo:|cali|flannel|cni|tap)[a-z][\w.-]{1,14})"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        rf"\b{NAME}: (?:NIC )?Link is Down\b",
        rf"\b(?:mlx\d|bnxt|ice|i40e|ena|hns3|qede|cxgb\d)\w* \S{{1,20}} {NAME}: (?:NIC )?[Ll]ink (?:is )?[Dd]own\b",
        rf"link status definitely down for interface {NAME}",
        r"(?:NCCL|c10d|gloo|torch|[Ss]ocket|[Cc]onnect).{0,200}\bNetwork is down\b",
        r"\[Errno 100\] Network is down",
        r"failed to bind to \[?(?P<address>[\w.:%]+?)\]?:\d+ \(errno: 99 - Cannot assign requested address",
        r"(?:gloo|NCCL).{0,120}\bbind\b.{0,80}: Cannot assign requested address",
    ],
    message=(
        "a network interface[, <interface>,] is down[, or none has the address <address>]: "
        "connections over it fail"
    ),
    fixes=[
        Fix("See which interfaces are up, with what addresses", "ip -br link; ip -br addr"),
        Fix(
            "Use one that is up: its full name, as `ip -br addr` prints it on that node",
            "export NCCL_SOCKET_IFNAME=INTERFACE GLOO_SOCKET_IFNAME=INTERFACE",
        ),
        Fix(
            "Leave the node out; the administrators want its name, the interface's and the time",
            "sbatch --exclude=NODE train.sbatch",
        ),
        Fix(
            "See when the link went down",
            "sudo dmesg -T | grep -iE 'link (is )?(down|up)|link becomes'",
            Kind.ADMIN,
        ),
        Fix(
            "Bring it up; if it does not stay up, look at cable, transceiver and switch",
            "sudo ip link set INTERFACE up",
            Kind.ADMIN,
        ),
    ],
    no_reproduction="needs a network interface that goes down",
)
