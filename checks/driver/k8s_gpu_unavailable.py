"""Kubernetes has no free GPU for the pod.

## What happens

The pod stays in "Pending", and its events say "0/8 nodes are available: 8 Insufficient nvidia.com/gpu". Or it fails at
once with the status "UnexpectedAdmissionError": "Allocate failed due to requested number of devices unavailable for
nvidia.com/gpu. Requested: 1, Available: 0". Of a distributed job some pods run, and wait for those that do not.

## Why

| what is said | most likely |
| --- | --- |
| Insufficient nvidia.com/gpu | the GPUs are taken; or no node has as many in one piece as one pod asks for |
| the same, with 0 in the node's `Allocatable` | the device plugin does not run there, or the driver does not work |
| untolerated taint | GPU nodes are closed to pods that do not say that they may go there |
| exceeded quota | the namespace's limit, not the GPUs |
| UnexpectedAdmissionError | the kubelet or the device plugin was restarted, or a GPU became unhealthy, as the pod came |

## How to tell

`kubectl describe pod POD` shows the events. `kubectl describe node NODE | grep -A8 -E 'Allocatable|Allocated'` shows how
many GPUs the node has and how many are taken; 0 of them is a matter of device plugin or driver.

## See also

- [Schedule GPUs](https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/): how a pod asks for them, and labels of nodes
- [k8s-device-plugin 33](https://github.com/NVIDIA/k8s-device-plugin/issues/33): Insufficient nvidia.com/gpu
- [kubernetes 97131](https://github.com/kubernetes/kubernetes/issues/97131): UnexpectedAdmissionError, a lost GPU
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import Kubernetes

PLUGIN = Fix(
    "Where a node has 0: see whether NVIDIA's device plugin runs on it, and what it says",
    "kubectl get pods -A -o wide | grep -i device-plugin",
    Kind.ADMIN,
)
HEALTH = Fix(
    "On the node: see which GPU it calls unhealthy, and why",
    "nvidia-smi; sudo dmesg | grep -iE 'xid|nvrm'",
    Kind.ADMIN,
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where a part of a node's GPUs is left",
    symptoms=[
        r"(?P<nodes>\d+/\d+) nodes are available: .{0,200}Insufficient (?P<resource>(?:nvidia|amd)\.com/[\w.-]*\w)",
        r"^(?!.*nodes are available: ).*Insufficient (?P<resource>(?:nvidia|amd)\.com/[\w.-]*\w)",
        r"^(?!.*Insufficient ).*untolerated taint\(?s?\)? \{(?P<resource>(?:nvidia|amd)\.com/[\w.-]+)",
        r"exceeded quota: .{0,200}requests\.(?P<resource>(?:nvidia|amd)\.com/[\w.-]+)",
        (
            r"Allocate failed due to requested number of devices unavailable for (?P<resource>[\w./-]+)\. "
            r"Requested: (?P<asked>\d+), Available: (?P<free>\d+)"
        ),
        r"Allocate failed due to (?!requested number).{0,120}(?P<resource>(?:nvidia|amd)\.com/[\w.-]*\w)",
        r"\bUnexpectedAdmissionError\b",
        r"No devices found\. Waiting indefinitely",  # NVIDIA's device plugin
        # as people put it
        (
            r"\b(?:[Kk]ubernetes|[Kk](?:8|3)s|[Mm]icro[Kk]8s|[Mm]inikube|RKE2?|[Kk]ubelet|[Dd]evice[ -][Pp]lugin) "
            r"(?:\w+ ){0,5}?(?:not|\w{2,5}n't|cannot|fails to|no longer) (?:detect|see|find|recogni[sz]e|show|discover)(?:s|ing|ed)? "
            r"(?:\w+ ){0,4}?(?:GPU|gpu)"
        ),
        (
            r"\bkubectl describe (?:nodes?|no)\b[^\n]{0,160} (?:not|\w{2,5}n't) (?:show|list|read|see|have|display) (?:\w+ ){0,4}?"
            r"(?:GPU|gpu|nvidia\.com/gpu)"
        ),
        Symptom(
            r"\b[Aa]llocatable (?:(?:nvidia\.com/)?gpu|GPU)s? (?:is|are|was|were|of|=|:) ?(?P<left>\d{1,3})[ ,][^\n]{0,60}?"
            r"(?:total|capacity|of) (?:is |are |= ?|: ?)?\d",
            unless=r"nvidia\.com/gpu:",
        ),
    ],
    message="Kubernetes does not give the pod its GPUs[ (<resource>)][: <nodes> nodes could take it][: it asks for <asked>, "
    "and <free> are free on the node][: it calls <left> of a node's healthy]",
    follows=["gpu-fell-off-bus", "gpu-ecc-error", "gpu-xid", "fabric-manager-down"],
    fixes=[
        Fix("See what the scheduler says", "kubectl describe pod POD"),
        Fix(
            "See how many GPUs each node has to give",
            "kubectl get nodes -o custom-columns='NODE:.metadata.name,GPUS:.status.allocatable.nvidia\\.com/gpu'",
        ),
        Fix("Ask for no more GPUs than one node has, in the pod's resources.limits"),
        Fix(
            "Where GPU nodes have a taint: add a toleration of it to the pod's specification, as this shows",
            "kubectl explain pod.spec.tolerations",
        ),
        Fix(
            "After UnexpectedAdmissionError: delete the pod; its job makes another", "kubectl delete pod POD"
        ),
        PLUGIN,
    ],
    no_reproduction="needs a Kubernetes cluster",
)


@check.environment
def environment(kubernetes: Kubernetes) -> Iterator[Finding]:
    """A node of a pasted ``kubectl describe node`` offers fewer GPUs than it has."""
    for node in kubernetes.nodes:
        if node.allocatable >= node.capacity:
            continue
        which = f"node {node.name}" if node.name else "the node"
        if node.allocatable:
            message = f"{which} has {node.capacity} {node.resource} and gives pods {node.allocatable} of them: the device plugin calls the others unhealthy"
        else:
            message = f"{which} has {node.capacity} {node.resource} and gives pods none: the device plugin calls all of them unhealthy, or has stopped"
        severity = Severity.WARNING if node.allocatable else Severity.ERROR
        yield check.found(message, severity=severity, fixes=[HEALTH, PLUGIN])
