"""Nodes and pods as ``kubectl describe`` shows them in a text."""

from msgspec import Struct


class KubernetesNode(Struct, frozen=True, kw_only=True):
    """What one node has of a resource that device plugins offer, such as ``nvidia.com/gpu``."""

    resource: str
    capacity: int
    """As many as the device plugin knows."""
    allocatable: int
    """As many of those as it calls healthy: the scheduler gives no others away."""
    name: str = ""
    """Empty: not shown."""


class Kubernetes(Struct, frozen=True, kw_only=True):
    """What a text shows of a cluster; no probe asks it."""

    nodes: list[KubernetesNode] = []
    oom_killed: list[str] = []
    """Containers that ended, the last time or now, with the reason ``OOMKilled``."""
    sigkilled: dict[str, bool] = {}
    """Containers that ended with exit code 137 and another reason, and whether they run again."""
