"""``kubectl describe node`` and ``kubectl describe pod`` -> what the nodes offer, and which containers were killed.

What ``kubectl get node -o yaml`` or ``-o json`` shows of a node says the same with small letters and quotes.
"""

import re

from gpudoctor.facts import Kubernetes, KubernetesNode

_NAME = re.compile(r"Name:\s{2,40}(?P<name>[\w.-]{1,253})$")
_RESOURCE = re.compile(
    r"\"?(?P<resource>(?:nvidia|amd|gpu\.intel)\.com/[\w.-]{1,60})\"?:\s{1,40}\"?(?P<number>\d{1,5})\"?,?$"
)
_TITLE = re.compile(r"\"?(?P<title>[Cc]apacity|[Aa]llocatable)\"?:(?: \{)?$")
_CONTAINER = re.compile(r"(?P<name>[a-z0-9][a-z0-9.-]{0,62}):$")
_SECTION = re.compile(r"[A-Z][\w -]{2,40}:")
_KILLED = re.compile(r"Reason:\s{1,20}OOMKilled$")
# below "State:" and "Last State:"
_STATE = re.compile(r"(?P<last>Last )?State:\s{1,20}(?P<state>Running|Waiting|Terminated)$")
_SIGKILL = re.compile(r"Exit Code:\s{1,12}137$")
_ENDS = ("apacity:", 'apacity": {', "OOMKilled", " 137")
_MOST = 256


def read(lines: list[str]) -> Kubernetes | None:
    """Read nodes whose capacity and what is allocatable both stand there; ``None`` where nothing is of a cluster."""
    described = any(line.startswith("Restart Count:") for line in lines)  # a pod, whatever became of it
    if not described and not any(line.endswith(_ENDS) for line in lines):
        return None
    nodes: dict[tuple[str, str], dict[str, int]] = {}
    killed: list[str] = []
    by_signal: dict[str, bool] = {}
    running = False
    name = section = container = ""
    for line in lines:
        if ":" not in line[:80]:
            continue
        if match := _NAME.match(line[:300]):
            name, section, container = match["name"], "", ""
        elif _KILLED.match(line[:60]):
            if (container or name) not in killed and len(killed) < _MOST:
                killed.append(container or name)
        elif match := _STATE.match(line[:60]):
            running = (not match["last"] and match["state"] == "Running") or (bool(match["last"]) and running)
        elif _SIGKILL.match(line[:60]):
            if len(by_signal) < _MOST:
                by_signal.setdefault(container or name, running)
        elif match := _TITLE.match(line[:40]):
            section = match["title"].capitalize()
        elif match := _CONTAINER.match(line[:70]):
            container = match["name"]
        elif section in ("Capacity", "Allocatable") and (match := _RESOURCE.match(line[:150])):
            if len(nodes) < _MOST:
                nodes.setdefault((name, match["resource"]), {}).setdefault(section, int(match["number"]))
        elif _SECTION.match(line[:50]):
            section = line.partition(":")[0]
    found = [
        KubernetesNode(name=of, resource=resource, capacity=told["Capacity"], allocatable=told["Allocatable"])
        for (of, resource), told in nodes.items()
        if len(told) == len(("Capacity", "Allocatable"))
    ]
    by_signal = {of: runs for of, runs in by_signal.items() if of not in killed}
    if not (found or killed or by_signal or described):
        return None
    return Kubernetes(nodes=found, oom_killed=killed, sigkilled=by_signal)
