"""NVLink connections between GPUs are down.

## What happens

NCCL says "P2P is disabled between NVLINK connected GPUs 1 and 0 … probably due to a hardware issue" and ends with a
system error. `nvidia-smi nvlink -s` shows "Link 3: <inactive>" or "all links are inActive". Where nothing fails, data
goes over PCIe instead, many times slower.

## Why

One link: a cable, bridge or lane. All links of one GPU: that GPU or its board. All links of all GPUs: the fabric
manager or the driver (`fabric-manager-down`). A link that does not come up again after an error is a fault of the
hardware until a reset proves otherwise.

## How to tell

Compare the GPUs: `nvidia-smi nvlink -s` and `nvidia-smi topo -m`; two SXM GPUs with `SYS` or `NODE` where the others
have `NV12` or `NV18` lost their links. PCIe cards without a bridge, the unused links of a bridge, and GPUs in MIG mode
are inactive without a fault. `nvidia-smi topo -p2p n` shows whether peer access works.

## See also

- [NCCL 2329](https://github.com/NVIDIA/nccl/issues/2329): the message, and why NCCL does not go around such a link
- [NVIDIA's health checks: NVLink](https://docs.nvidia.com/health-validation/reference/checks/nvlink): links that are inactive, and what to do with the node
"""

from gpudoctor import Check, Fix, Kind, Severity, Symptom

MIG = r"MIG M(?:ode|\.)?[\s\S]{0,80}Enabled|\bMIG \d+g\."

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"\bNETIR_LINK_DOWN\b",
        r"P2P is disabled between NVLINK connected GPUs (?P<gpu>\d+) and (?P<peer>\d+)",
        Symptom(r"\bLink (?P<link>\d+): <?in[aA]ctive\b", unless=MIG),
        Symptom(r"Unable to retrieve NVLink information as all links are in[aA]ctive", unless=MIG),
        r"GPU (?P<gpu>\d+) has (?:all )?nvlinks inactive",
        r"GPU (?P<gpu>\d+): [1-9]\d* inactive NVLinks",
        r"GPU (?P<gpu>\d+)'s NvLink link (?P<link>\d+) is currently down",
        r"DCGM_FR_(?:NVLINK_DOWN|GPU_EXPECTED_NVLINKS_UP|NVSWITCH_NVLINK_DOWN)",
        r"knvlinkDiscoverPostRxDetLinks\w*: Getting peer\d+'s postRxDetLinkMask failed",
    ],
    message="NVLink is down[ (link <link>)][ on GPU <gpu>][ towards GPU <peer>]: GPUs talk over PCIe or not at all",
    follows=["fabric-manager-down", "nvlink-errors", "gpu-fell-off-bus"],
    fixes=[
        Fix("Compare the links of all GPUs", "nvidia-smi nvlink -s; nvidia-smi topo -m"),
        Fix(
            "On a cluster: leave this node out, and send the administrators its name and that output",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix(
            "With NVSwitch: start the fabric manager again, then reset all GPUs, with nothing running",
            "sudo systemctl restart nvidia-fabricmanager && sudo nvidia-smi --gpu-reset",
            Kind.ADMIN,
        ),
        Fix(
            "Reseat the bridge, switch the node's power off and on, or have the board exchanged",
            kind=Kind.ADMIN,
        ),
        Fix(
            "Let NCCL do without it, which is many times slower",
            "export NCCL_IGNORE_DISABLED_P2P=1",
            Kind.MITIGATION,
        ),
    ],
    no_reproduction="needs an NVLink that fails",
)
