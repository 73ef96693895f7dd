"""Which variables the installed torch and NCCL read."""

from msgspec import Struct


class Library(Struct, frozen=True, kw_only=True):
    """A shared library of the patient's torch or NCCL."""

    path: str
    version: str | None = None
    """Of NCCL alone, from its own "NCCL version" text."""
    names: list[str] = []
    """Variables that stand in its read-only data as a whole string: what ``getenv`` can be given."""

    @property
    def is_nccl(self) -> bool:
        """Whether it holds NCCL's own variables; a libtorch_cuda with NCCL linked into it does, too."""
        return {"NCCL_P2P_LEVEL", "NCCL_TOPO_FILE"} <= set(self.names)


class Variables(Struct, frozen=True, kw_only=True):
    """The variables that the patient's torch and NCCL know."""

    libraries: list[Library] = []
    readers: dict[str, str] = {}
    """Set variables that no library holds, with what does: a Python package beside torch, or a plug-in of NCCL."""
    searched: bool = True
    """Everything was looked through for `readers`; ``False``: time was up before."""
    allocator_options: list[str] = []
    """Names in the library that parses PYTORCH_ALLOC_CONF; empty: it was not found."""

    @property
    def names(self) -> frozenset[str]:
        """Every variable that some library reads."""
        return frozenset(name for library in self.libraries for name in library.names)

    @property
    def nccl(self) -> Library | None:
        """The library that holds NCCL; ``None``: it was not found."""
        return next((library for library in self.libraries if library.is_nccl), None)

    @property
    def torch(self) -> bool:
        """Whether torch's own libraries were read: those that hold its distributed part."""
        return "TORCH_DISTRIBUTED_DEBUG" in self.names
