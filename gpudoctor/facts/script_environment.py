"""Which launch variables a script writes, and whether its process group reads them."""

from gpudoctor.facts.script import Script
from gpudoctor.facts.script_calls import Call

WHOLE = ("os.environ.update", "os.environ.__set__")
"""What changes the environment by a mapping that could not be taken apart."""


def written_variables(script: Script) -> frozenset[str] | None:
    """Return the environment variables that a script sets for itself; ``None`` where it may set any."""
    if any(call.name in WHOLE for call in script.calls):
        return None
    setting = script.named("os.environ.__setitem__", "os.environ.setdefault", "os.putenv")
    names = {call.value("key").literal for call in setting}
    known = frozenset(name for name in names if isinstance(name, str))
    return known if len(known) == len(names) else None


def reads_address(group: Call) -> bool:
    """Return whether ``init_process_group`` takes MASTER_ADDR and MASTER_PORT from the environment.

    An address that is computed may be anything: a file, ``tcp://``.
    """
    method = group.value("init_method")
    told = "init_method" in group.arguments and not (method.is_literal and method.literal in (None, "env://"))
    return not told and "store" not in group.arguments


def meets_here(script: Script, group: Call) -> bool:
    """Return whether the ranks meet where other machines do not come: at an address of this machine alone."""
    method = group.value("init_method")
    given = [str(method.literal if method.is_literal else method.text)]
    given += [
        str(c.value("value").literal)
        for c in script.named("os.environ.__setitem__")
        if c.variable == "MASTER_ADDR" and not c.rank_conditions
    ]
    started = script.named("multiprocessing.Process", "torch.multiprocessing.Process")
    handed = (c.arguments[name].value for c in started for name in ("args", "kwargs") if name in c.arguments)
    given += [str(item.literal) for value in handed for item in value.items]
    return any("127.0.0.1" in text or "localhost" in text for text in given)
