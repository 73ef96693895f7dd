"""The machine, by all that a text says of it: its block, the commands beside it, how a container was started."""

from typing import Any

from msgspec import Struct
from msgspec.structs import fields, replace

from gpudoctor.facts import ContainerStart, Host, Infiniband
from gpudoctor.importers import (
    cgroup_files,
    docker_info,
    host_commands,
    host_words,
    kernel_settings,
    numa_layout,
    rdma_words,
    shell_answers,
    wsl_words,
)


def whole(
    known: Struct | str | None, pieces: list[str], adapters: Infiniband | None, start: ContainerStart | None
) -> Host | None:
    """Add to the host of a block, `known`, what the rest of the text says; ``None`` where nothing says anything."""
    host = known if isinstance(known, Host) else None
    for reader in (host_commands, shell_answers, docker_info, numa_layout, wsl_words, cgroup_files):
        host = _filled(host, reader.read(pieces))
    if start is not None and start.shm_bytes and (host is None or host.shm_bytes is None):
        host = replace(host or Host(), shm_bytes=start.shm_bytes, container=start.engine)
    host = _with_settings(_filled(host, host_words.read(pieces)), kernel_settings.read(pieces))
    more = _rdma(host, pieces)
    if adapters is not None and host is not None and host.limits:
        layers = {d.name: port.link_layer for d in adapters.devices for port in d.ports if port.active}
        more |= {"rdma": layers} if layers else {}
    return replace(host or Host(), **more) if more else host


def _with_settings(known: Host | None, more: Host | None) -> Host | None:
    """Add what the kernel's settings are to the memory nodes that are known."""
    if known is None or more is None or known.numa is None or more.numa is None:
        return _filled(known, more)
    return replace(known, numa=replace(more.numa, nodes=known.numa.nodes))


def _rdma(host: Host | None, pieces: list[str]) -> dict[str, Any]:
    """Return the adapters that NCCL and UCX name, where the limit on locked memory that they need is known."""
    said = rdma_words.read(pieces)
    limits = host.limits if host is not None else {}
    if said.limit is not None and "memlock" not in limits:
        limits = {**limits, "memlock": said.limit}
    if "memlock" not in limits:
        return {}
    more: dict[str, Any] = {"lock_refused": said.refused, "limits": limits} if said.refused else {}
    if (said.layers or said.named) and (host is None or not host.rdma):
        more |= {"rdma": said.layers or said.named, "limits": limits}
    return more


def _filled(known: Host | None, more: Host | None) -> Host | None:
    """Add to what is known of the machine what the other commands say and it does not."""
    if known is None or more is None:
        return known or more
    changes: dict[str, Any] = {}
    if known.limits and more.limits:
        changes["limits"] = more.limits | known.limits
    if more.wsl:
        changes["wsl"] = True
    for field in fields(Host):
        if getattr(known, field.name) in (None, "", {}) and getattr(more, field.name) not in (None, "", {}):
            changes[field.name] = getattr(more, field.name)
    return replace(known, **changes)
