"""k8s-gpu-unavailable: in logs, and of a node that ``kubectl describe`` shows."""

import pytest

from gpudoctor.facts import Kubernetes, KubernetesNode
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.snapshot import Snapshot

MESSAGE = "Kubernetes does not give the pod its GPUs"
EXAMPLES = {
    "Our k3s does not detect the GPU of the second worker.": MESSAGE,
    "`kubectl describe node worker-2` doesn't show any GPUs.": MESSAGE,
    "On one node allocatable GPUs are 5, while the total is 8.": f"{MESSAGE}: it calls 5 of a node's healthy",
    "I1212 10:00:00.000000       1 main.go:154] No devices found. Waiting indefinitely.": MESSAGE,
    "0/8 nodes are available: 2 node(s) had untolerated taint {dedicated: x}, 6 Insufficient nvidia.com/gpu. preemption: no": (
        MESSAGE + " (nvidia.com/gpu): 0/8 nodes could take it"
    ),
    "Warning  FailedScheduling  pod didn't trigger scale-up: 1 Insufficient nvidia.com/mig-1g.10gb": (
        MESSAGE + " (nvidia.com/mig-1g.10gb)"
    ),
    "Warning  FailedScheduling  3 node(s) had untolerated taint {nvidia.com/gpu: present}": (
        MESSAGE + " (nvidia.com/gpu)"
    ),
    'pods "train-0" is forbidden: exceeded quota: team-a, requested: requests.nvidia.com/gpu=8, used: 12, limited: 16': (
        MESSAGE + " (nvidia.com/gpu)"
    ),
    "Pod Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. Requested: 4, Available: 0, which is unexpected": (
        MESSAGE + " (nvidia.com/gpu): it asks for 4, and 0 are free on the node"
    ),
    "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu, which is unexpected": (
        MESSAGE + " (nvidia.com/gpu)"
    ),
    "train-3   0/1     UnexpectedAdmissionError   0          4s": MESSAGE,
}
NOT_THIS = [
    "kubectl describe node shows all eight GPUs",
    "0/3 nodes are available: 3 Insufficient cpu.",
    "nvidia.com/gpu: 8",
    "exceeded quota: team-a, requested: pods=1, used: pods=10, limited: pods=10",
]


@pytest.mark.parametrize(
    ("allocatable", "found"),
    [
        (8, []),
        (7, [(Severity.WARNING, "node gpu-1 has 8 nvidia.com/gpu and gives pods 7 of them")]),
        (0, [(Severity.ERROR, "node gpu-1 has 8 nvidia.com/gpu and gives pods none")]),
    ],
)
def test_a_node_that_offers_fewer_than_it_has(allocatable, found):
    node = KubernetesNode(name="gpu-1", resource="nvidia.com/gpu", capacity=8, allocatable=allocatable)
    snapshot = Snapshot({"kubernetes": Kubernetes(nodes=[node])})
    _, findings = examine(Registry().check("k8s-gpu-unavailable"), Source.ENVIRONMENT, snapshot)
    assert [(f.severity, f.message.partition(":")[0]) for f in findings] == found
