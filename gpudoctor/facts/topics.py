"""The topics of a report's facts that no probe learns: what was read of files and commands."""

from msgspec import Struct

from gpudoctor.facts.checkpoint_file import CheckpointFile
from gpudoctor.facts.checkpoint_values import CheckpointValues
from gpudoctor.facts.comparison import Comparison
from gpudoctor.facts.container_start import ContainerStart
from gpudoctor.facts.evidence import Code, Given, Log, Run, Silence
from gpudoctor.facts.extensions import Extensions
from gpudoctor.facts.kubernetes import Kubernetes
from gpudoctor.facts.links import Links
from gpudoctor.facts.measurements import Measurements
from gpudoctor.facts.nccl_start import NcclStart
from gpudoctor.facts.process_rows import ProcessRows
from gpudoctor.facts.ranks import Ranks
from gpudoctor.facts.scaling import Scaling
from gpudoctor.facts.slurm import Slurm

TOPICS: dict[str, type[Struct]] = {
    "checkpoint": CheckpointFile,
    "values": CheckpointValues,
    "comparison": Comparison,
    "given": Given,
    "log": Log,
    "code": Code,
    "run": Run,
    "silence": Silence,
}
"""Of several checkpoints the second one's topics are ``checkpoint.2``, ``values.2`` and ``comparison.2``."""


MEASURED: dict[str, type[Struct]] = {"measurements": Measurements, "scaling": Scaling, "ranks": Ranks}
"""Topics of machines that no probe learns by itself, but ``check --deep``, ``repro --scale`` or several reports."""

PASTED: dict[str, type[Struct]] = {
    "slurm": Slurm,
    "container_start": ContainerStart,
    "nccl_start": NcclStart,
    "kubernetes": Kubernetes,
    "extensions": Extensions,
    "links": Links,
    "process_rows": ProcessRows,
}
"""Topics that are read of other tools' output alone."""


def kind_of(topic: str, topics: dict[str, type[Struct]]) -> type[Struct] | None:
    """Return the type of a topic's facts, ``checkpoint.2`` those of ``checkpoint``; ``None`` for an unknown one.

    `topics` are those that probes learn.
    """
    name, dot, number = topic.partition(".")
    name = name if dot and number.isdecimal() else topic
    return TOPICS.get(name) or MEASURED.get(topic) or PASTED.get(topic) or topics.get(topic)
