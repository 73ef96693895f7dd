"""What holds the command line or a configuration, where nothing is seen of how it was made."""

import re

from msgspec.structs import replace

from gpudoctor.code.program import Frame
from gpudoctor.facts import Known, Value

CONFIGURATIONS = frozenset(
    "args cfg config opt opts hparams hps params flags conf configs options configuration".split()
)
"""Parameters that hold the command line or a configuration."""
SURELY = frozenset("args cfg config opts hparams hps flags configs configuration".split())
"""Those whose names mean nothing else: ``opt`` may be an optimizer, and ``params`` those of a model."""
READING = re.compile(r"arg|opt(?:s|ions?)\b|parse|conf|cfg|flags|hparams|yaml|json|toml", re.I)
"""What is in the names of functions that return one."""


def configuration(frame: Frame) -> Value:
    """Return a namespace of which nothing is known but that all ranks have the same."""
    program = frame.program
    number = len(program.things)
    value = program.thing("arguments", "argparse.Namespace", frame.place(frame.file.source.tree))
    program.things[number] = replace(program.things[number], made=-1)
    return Value(Known.THING, thing=value.thing)


def as_configuration(frame: Frame, name: str, value: Value) -> Value:
    """Return what a name holds after an assignment: a namespace where it is called so and nothing else is known."""
    if name not in CONFIGURATIONS or value.known is not Known.UNKNOWN or value.by_rank or value.from_data:
        return value
    calls = frame.program.calls
    made = calls[value.made].name if 0 <= value.made < len(calls) else ""
    return configuration(frame) if READING.search(made) or (name in SURELY and not value.text) else value
