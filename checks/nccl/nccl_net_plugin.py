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

import re
import shlex
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import (
    Infiniband,
    Interfaces,
    Launch,
    Names,
    NcclConfiguration,
    Plugins,
    settings,
    spans_nodes,
)

# Lines of a healthy start that some versions of the plug-ins print as warnings.
HARMLESS = r"(?!Setting |Using |Running |Selected |Initializ|Configuring |NIC group)"

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where NCCL goes on without it",
    symptoms=[
        rf"NCCL WARN NET/(?P<network>OFI|gIB|FasTrak|GPUDirectTCPXO?|UCX)\b ?:? ?{HARMLESS}(?P<reason>\S.{{3,160}})",
        r"NCCL WARN Failed: (?P<network>UCX) error .{0,40}(?P<reason>'-\d+' \w[\w ]*)",
        r"infiniband (?P<network>efa_\d+): (?P<reason>Failed to (?:process command|register mr).{0,80})",
        (
            r"(?<!INFO )NET/(?P<network>OFI) (?P<reason>(?:Request (?:0x\w+ )?completed with error|Creating new endpoint|Couldn't |Unable to |Failed to "
            r"|No eligible providers|Only EFA provider).{0,160})"
        ),
        r"(?P<network>libnccl-(?:net|tuner)[\w.-]*): (?P<reason>undefined symbol: \w+)",
        r"(?P<network>libnccl-(?:net|tuner)[\w.-]*): (?P<reason>\S{1,200}: version \W?\w[\w.]{2,40}\W? not found)",
        r"(?:Error: |NCCL WARN )network (?P<network>\w[\w /.-]{0,40}) (?P<reason>not found)\.",
        r"Failed to initialize any NET plugin",
        r"External network plugin (?P<network>\S{1,80}) is (?P<reason>unsupported)",
        r"(?P<network>NCCL_DEVICE_UNPACK) plugin has (?P<reason>incompatible version)",
        r"(?P<network>libfabric\.so\.\d+): (?P<reason>version \W?FABRIC_[\d.]+\W? not found)",
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
)


FORGET = Fix(
    "Forget what another machine's job script asked for", "unset NCCL_NET NCCL_NET_PLUGIN NCCL_TUNER_PLUGIN"
)
INSTALL = Fix(
    "Install AWS's plug-in, or take Amazon's image; its folder must be in LD_LIBRARY_PATH",
    "export LD_LIBRARY_PATH=/opt/amazon/ofi-nccl/lib:$LD_LIBRARY_PATH",
)


OWN = {
    "NCCL_NET_PLUGIN": "its own network code",
    "NCCL_TUNER_PLUGIN": "its own choice of algorithms",
    "NCCL_PROFILER_PLUGIN": "no profiler",
}
"""What NCCL does without a plug-in that it was told to load (``src/plugin``)."""


OF_NCCL = re.compile(r"libnccl-tuner[\w.-]*$|(?!lib|none$|STATIC)[\w-]+$")
"""A tuner by a name that the plug-ins' probe would know: other libraries are not looked for."""


BUILT_IN = ("ib", "socket", "aws libfabric")
"""NCCL's own networks, by the names that NCCL_NET may give them in any case, and the plug-in whose place is judged apart."""


@check.environment
def environment(
    launch: Launch,
    plugins: Plugins,
    infiniband: Infiniband | None,
    names: Names | None,
    interfaces: Interfaces | None,
    configuration: NcclConfiguration | None,
) -> Iterator[Finding]:
    """NCCL is told to use a network that this machine does not have, or EFA has no plug-in."""
    known = settings(launch, configuration)
    variables = {name: one.value for name, one in known.items()}
    network, plugin = (variables.get(name, "") for name in ("NCCL_NET", "NCCL_NET_PLUGIN"))
    lacking = _lacking(network, plugin, plugins, infiniband)
    if lacking:
        yield check.found(f"NCCL_NET is {network}, and {lacking}: NCCL ends with an error", fixes=[FORGET])
        return
    if plugin and plugin != "none" and not plugin.startswith("STATIC") and "/" not in plugin:
        missing = [p for p in plugin.split(",") if p and not plugins.network(p.removesuffix(".so"))]
        if missing:
            message = (
                f"NCCL_NET_PLUGIN is {plugin}, and there is no such library in LD_LIBRARY_PATH or the loader's cache: NCCL goes on "
                "with its own network code"
            )
            yield check.found(message, severity=Severity.WARNING, fixes=[FORGET])
            return
    if plugin != "none":
        yield from _damaged(plugins)
    tuner = variables.get("NCCL_TUNER_PLUGIN", "")
    if (
        OF_NCCL.match(tuner) and not plugins.tuner(tuner) and not plugins.network()
    ):  # which may hold a tuner as well
        message = (
            f"NCCL_TUNER_PLUGIN is {tuner}, and there is no such library in LD_LIBRARY_PATH or the loader's cache: NCCL goes "
            f"on with {OWN['NCCL_TUNER_PLUGIN']}"
        )
        yield check.found(message, severity=Severity.WARNING, fixes=[FORGET])
    for name, instead in OWN.items():
        if name in known and configuration is not None and (why := configuration.refusal(known[name])):
            message = f"{known[name]}: the file cannot be opened ({why}), and NCCL goes on with {instead}"
            fixes = [Fix(known[name].removal("Do without it"), known[name].removal_command)]
            yield check.found(message, severity=Severity.WARNING, fixes=fixes)
    efa = [d.name for d, _ in infiniband.active if d.efa] if infiniband else []
    if efa and not plugins.network() and plugin != "none" and spans_nodes(launch, names, interfaces):
        message = f"{efa[0]} is an EFA adapter, and NCCL's plug-in for it is not found: traffic between nodes goes over TCP"
        yield check.found(message, severity=Severity.WARNING, fixes=[INSTALL])


def _damaged(plugins: Plugins) -> Iterator[Finding]:
    """Yield a plug-in on LD_LIBRARY_PATH that is no library, whether NCCL was told to take it or not."""
    for path in [path for path in plugins.damaged if "/libnccl-net" in path][:1]:
        message = f"{path} is no library (empty, cut off, or a text): NCCL cannot load it, and goes on with its own network code"
        fix = Fix(
            "Install it again, or remove it",
            f"ls -l {shlex.quote(path)}; head -c 100 {shlex.quote(path)} | cat -A",
        )
        yield check.found(message, severity=Severity.WARNING, fixes=[fix])


def _lacking(network: str, named: str, plugins: Plugins, infiniband: Infiniband | None) -> str:
    """Return what is missing for a network that NCCL must use; empty: nothing that is known."""
    if network.lower() == "ib" and infiniband is not None and not infiniband.carrying:
        return "this machine has no active InfiniBand or RoCE port"
    if network.lower() == "aws libfabric" and infiniband is not None:
        if not any(d.efa for d in infiniband.devices):
            return "this machine has no EFA adapter"
        return "" if plugins.network() else "its plug-in is not found"
    if network and network.lower() not in BUILT_IN and not plugins.network() and "/" not in named:
        return "NCCL has no network of that name, and there is no plug-in that could bring one"
    return ""
