"""Libraries that NCCL loads where it finds them."""

from msgspec import Struct


class Plugins(Struct, frozen=True, kw_only=True):
    """NCCL's plug-ins on LD_LIBRARY_PATH and in the loader's cache, by the names of their files."""

    found: list[str] = []
    """Such as ``libnccl-net.so`` and ``libnccl-tuner-ofi.so``; each once."""

    damaged: list[str] = []
    """Paths on LD_LIBRARY_PATH that do not begin as a library does."""

    def network(self, name: str = "") -> bool:
        """Return whether there is a network plug-in of this name; without one, whether there is any."""
        if not name:
            return any(file.startswith("libnccl-net") for file in self.found)
        return any(
            file.startswith((f"libnccl-net-{name}.so", f"{name}.so", f"lib{name}.so")) for file in self.found
        )

    def tuner(self, name: str) -> bool:
        """Return whether there is a tuner of this name, which is a file's or stands in ``libnccl-tuner-NAME.so``."""
        name = name.removesuffix(".so")
        return any(file.startswith((f"libnccl-tuner-{name}.so", f"{name}.so")) for file in self.found)
