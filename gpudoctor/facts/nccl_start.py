"""What NCCL says at its start with NCCL_DEBUG=INFO, as a text shows it."""

from msgspec import Struct


class NcclStart(Struct, frozen=True, kw_only=True):
    """The networks that NCCL took, on each host whose lines the text has."""

    taken: dict[str, list[str]] = {}
    """By host: interfaces with their addresses (``eth0:10.0.0.3``) in NCCL's order, that of the set-up first."""
    nodes: int | None = None
    """For how many machines the command that started the ranks asks, where the text has it."""
