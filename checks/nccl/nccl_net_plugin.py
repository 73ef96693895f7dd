"""NCCL's network plug-in is of another cloud or version, or fails.

## What happens

"Error: network AWS Libfabric not found.", "NCCL WARN NET/OFI …", "libnccl-net.so: undefined symbol: …" or "Failed to
initialize any NET plugin", when the first communicator is made.

## Why

NCCL loads `libnccl-net.so` from LD_LIBRARY_PATH (EFA on AWS, gIB or FasTrak on Google Cloud, HPC-X for InfiniBand):

- The image was built for another cloud, and its plug-in finds none of its adapters here.
- NCCL_NET or NCCL_NET_PLUGIN was copied from another machine's job script.
- The plug-in, or the libfabric beneath it, does not fit this NCCL.
- On AWS: the instance has no EFA device, or its security group does not allow all traffic to itself.

"No plugin found (libnccl-net.so), using internal implementation" is harmless: most machines need none.

## How to tell

`env | grep -E 'NCCL_(NET|TUNER)|FI_'` and `ldconfig -p | grep nccl-net` show what was asked for and what there is.
`NCCL_DEBUG=INFO` prints "Using network …" with the choice.

## See also

- [NCCL_NET_PLUGIN](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-net-plugin): which plug-in is loaded, and `none`
- [nccl#1231](https://github.com/NVIDIA/nccl/issues/1231): why "No plugin found" is harmless
"""

from gpudoctor import Check, Fix, Kind, Severity

# Lines of a healthy start that some versions of the plug-ins print as warnings.
HARMLESS = r"(?!Setting |Using |Running |Selected |Initializ|Configuring |NIC group)"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        rf"NCCL WARN NET/(?P<network>OFI|gIB|FasTrak|GPUDirectTCPXO?|UCX)\b ?:? ?{HARMLESS}(?P<reason>\S.{{3,160}})",
        r"NCCL WARN Failed: (?P<network>UCX) error .{0,40}(?P<reason>'-\d+' \w[\w ]*)",
        r"infiniband (?P<network>efa_\d+): (?P<reason>Failed to (?:process command|register mr).{0,80})",
        (
            r"(?<!INFO )NET/(?P<network>OFI) (?P<reason>(?:Request completed with error|Creating new endpoint|Couldn't |Unable to |Failed to "
            r"|No eligible providers|Only EFA provider).{0,160})"
        ),
        r"(?P<network>libnccl-(?:net|tuner)[\w.-]*): (?P<reason>undefined symbol: \w+)",
        r"(?:Error: |NCCL WARN )network (?P<network>\w[\w /.-]{0,40}) (?P<reason>not found)\.",
        r"Failed to initialize any NET plugin",
        r"External network plugin (?P<network>\S{1,80}) is (?P<reason>unsupported)",
        r"(?P<network>NCCL_DEVICE_UNPACK) plugin has (?P<reason>incompatible version)",
        r"(?P<network>libfabric\.so\.\d+): (?P<reason>version .FABRIC_[\d.]+. not found)",
    ],
    message="NCCL's network plug-in does not work here[: <network>][: <reason>]",
    fixes=[
        Fix(
            "Forget what another machine's job script asked for",
            "unset NCCL_NET NCCL_NET_PLUGIN NCCL_TUNER_PLUGIN",
        ),
        Fix(
            "See what is asked for and what there is",
            "env | grep -E 'NCCL_(NET|TUNER)|^FI_|LD_LIBRARY_PATH'; ldconfig -p | grep -E 'nccl-net|libfabric'",
        ),
        Fix("On AWS: see whether the instance has an EFA device", "fi_info -p efa"),
        Fix(
            "Install the plug-in that this cloud gives for this version of NCCL, or take the cloud's own image",
            kind=Kind.ADMIN,
        ),
        Fix(
            "Use NCCL's own network code, for InfiniBand, RoCE and TCP; on AWS's EFA that is TCP, and slow",
            "export NCCL_NET_PLUGIN=none",
            Kind.MITIGATION,
        ),
    ],
    no_reproduction="needs a GPU",
)
