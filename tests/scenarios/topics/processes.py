"""The processes of a healthy machine."""

from gpudoctor.facts import Process, Processes
from tests.scenarios.machine import Machine


def facts(machine: Machine) -> Processes:
    """Return the ranks of the launch that asks, where there is one: this one, and its siblings."""
    variables = machine.variables
    count = int(variables.get("LOCAL_WORLD_SIZE", "0"))
    ranks = [
        Process(
            pid=4000 + n, name="pt_main_thread", state="S", parent=3990, parent_name="torchrun", age_seconds=30.0,
            threads=24, same_user=True, own=True, rank=str(n), local_rank=str(n),
            master_port=variables.get("MASTER_PORT"), devices=[f"/dev/nvidia{n}"],
        )
        for n in range(count)
    ]  # fmt: skip
    return Processes(ranks=ranks, user_threads=120)
