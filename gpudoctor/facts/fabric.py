"""The programs and device nodes that NVSwitch systems need beside the driver: fabric manager and IMEX."""

from msgspec import Struct


class Fabric(Struct, frozen=True, kw_only=True):
    """What runs and lies on this machine for NVLink fabrics."""

    manager: bool | None = None
    """A process ``nv-fabricmanager`` runs; ``None``: processes of other users are hidden, or this is a container."""
    manager_installed: bool = False
    """``/usr/bin/nv-fabricmanager`` is there."""
    manager_said: str = ""
    """The last error in ``/var/log/fabricmanager.log``."""
    imex: bool | None = None
    """A process ``nvidia-imex`` runs; ``None`` as for the manager."""
    imex_channels: int | None = None
    """Device nodes ``/dev/nvidia-caps-imex-channels/channelN``; ``None``: that folder is not there."""
    imex_nodes: int | None = None
    """Addresses in ``/etc/nvidia-imex/nodes_config.cfg``; ``None``: not readable."""
