"""How a container was started, as the command line in a text shows it."""

from msgspec import Struct


class ContainerStart(Struct, frozen=True, kw_only=True):
    """The commands of a text that start containers, all of one kind: none of them hands on a GPU, or one does."""

    engine: str
    """``docker``, ``podman``, ``apptainer`` or ``singularity``."""
    verb: str
    """``run``, ``exec`` or ``shell``: what the first of them does."""
    gpus: bool
    """Whether one of them hands on GPUs (``--gpus``, ``--runtime=nvidia``, ``--device``, ``--nv``)."""
    missing: str = ""
    """What shows that a program inside found no GPU or driver; empty: nothing in the text does."""
    shm_bytes: int | None = None
    """``--shm-size``, where it is given."""
