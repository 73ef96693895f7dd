"""collective-mismatch: seen in logs."""

import pytest

from gpudoctor import explain

MESSAGE = "the ranks' calls do not fit together; each rank must make the same calls with the same shapes"
OWN = (
    "what a rank itself gave to {} does not fit {}: a list has one tensor for each rank, and all are of one size and type; an "
    "output of all ranks has room for each of them"
)
EXAMPLES = {
    "ValueError: input tensor must be the same size as output size times world size": (
        "the ranks' calls do not fit together; each rank must make the same calls with the same shapes"
    ),
    "RuntimeError: Forward order differs across ranks: rank 0 is all-gathering 3 parameters while rank 2 is all-gathering 1 parameters": (
        "the ranks' calls do not fit together: rank 2 differs; each rank must make the same calls with the same shapes"
    ),
    (
        'File "/opt/deepspeed/runtime/zero/partitioned_param_coordinator.py", line 225, in reset_step\n'
        "RuntimeError: disagreement between rank0 and rank3: rank0: [1, 5, 6], rank3: [1, 6, 5]"
    ): (
        "the ranks' calls do not fit together: rank 3 differs; each rank must make the same calls with the same shapes"
    ),
    "Cannot apply desired operation due to shape mismatches. All Shapes across devices must be valid.": "the ranks' calls do not fit together; each rank must make the same calls with the same shapes",
    "but Rank 1 is running collective:CollectiveFingerPrint(SequenceNumber=372,OpType=ALLREDUCE,TensorShape=[512]": "the ranks' calls do not fit together: rank 1 differs in ALLREDUCE; each rank must make the same calls with the same shapes",
    (
        "[rank0]: RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running collective: "
        "CollectiveFingerPrint(SequenceNumber=7, OpType=ALLREDUCE, TensorShape=[4], TensorDtypes=Float, "
        "TensorDeviceTypes=TensorOptions(dtype=float (default), device=cpu, layout=Strided (default), "
        "requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt))), but Rank 1 is running "
        "collective: CollectiveFingerPrint(SequenceNumber=7, OpType=BROADCAST, TensorShape=[4], TensorDtypes=Float, "
        "TensorDeviceTypes=TensorOptions(dtype=float (default), device=cpu, layout=Strided (default), "
        "requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt)))."
        "Collectives differ in the following aspects: \t Op type: ALLREDUCEvs BROADCAST"
    ): (
        "the ranks' calls do not fit together: rank 0 differs in ALLREDUCE, Op type: ALLREDUCEvs BROADCAST; "
        "each rank must make the same calls with the same shapes"
    ),
    (
        "RuntimeError: Detected mismatch between collectives on ranks. Rank 3 is running inconsistent collective: "
        "CollectiveFingerPrint(OpType=ALLGATHER, TensorShape=[1, 5], TensorDtypes=Long, TensorDeviceTypes=cuda)"
    ): (
        "the ranks' calls do not fit together: rank 3 differs in ALLGATHER; each rank must make the same calls "
        "with the same shapes"
    ),
    "RuntimeError: Detected mismatch between collectives on ranks.": MESSAGE,
    (
        "  what():  [enforce fail at /pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:446] op.preamble.length <= "
        "op.nbytes. 128 vs 64"
    ): (
        "the ranks' calls do not fit together (128 came where 64 was expected); each rank must make the same "
        "calls with the same shapes"
    ),
    (
        "  what():  [enforce fail at .../gloo/transport/tcp/pair.cc:464] op.preamble.length <= op.nbytes. 32 vs 16. "
        "Received data size doesn't match expected size. Is there a distributed collective mismatch in your code?"
    ): (
        "the ranks' calls do not fit together (32 came where 16 was expected); each rank must make the same "
        "calls with the same shapes"
    ),
    "Received data size doesn't match expected size. Is there a distributed collective mismatch in your code?": MESSAGE,
    "ValueError: ProcessGroupGloo::allgather: invalid tensor size at index 0 (expected (8), got (4))": (
        OWN.format("allgather", "((4) came where (8) was expected)")
    ),
    "RuntimeError: ProcessGroupGloo::allgather: invalid tensor type at index 1 (expected CPUFloatType, got CPULongType)": (
        OWN.format("allgather", "(CPULongType came where CPUFloatType was expected)")
    ),
    (
        "ValueError: ProcessGroupGloo::gather: Incorrect output list size 1. Output list size should be 2, same as size of "
        "the process group."
    ): (OWN.format("gather", "(1 came where 2 was expected)")),
    (
        "ValueError: ProcessGroupGloo::scatter: Incorrect input list size 3. Input list size should be 2, same as size of "
        "the process group."
    ): (OWN.format("scatter", "(3 came where 2 was expected)")),
    (
        "node1:101:207 [3] init.cc:1247 NCCL WARN Mismatched collective detected, please check your collective calls at and "
        "around rank 39. You can use NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=COLL to see the collective logs"
    ): (
        "the ranks' calls do not fit together: rank 39 differs; each rank must make the same calls with the "
        "same shapes"
    ),
    "node1:101:207 [3] NCCL WARN Your program may be hanging, this may be caused by a collective mismatch around rank 5.": (
        "the ranks' calls do not fit together: rank 5 differs; each rank must make the same calls with the "
        "same shapes"
    ),
    (
        "node1:101:207 [0] transport/net_ib.cc:1044 NCCL WARN NET/IB : req 0/1 tag 0 peer 10.1.0.6<58683> collective "
        "mismatch error, local size 4096 remote size 65536"
    ): (
        "the ranks' calls do not fit together (65536 came where 4096 was expected); each rank must make the "
        "same calls with the same shapes"
    ),
    "node1:101:207 [0] NCCL WARN NET/IB : collective mismatch error local size 4096 remote 65536 addr 7f0 rkey 18 seq 1/2": (
        "the ranks' calls do not fit together (65536 came where 4096 was expected); each rank must make the "
        "same calls with the same shapes"
    ),
    (
        "[2026-03-01 10:00:00] node1:101:207 [0] p2p.cc:90 (ncclIbIsend) NCCL WARN NET/IB : req 0/1 tag 2 peer 10.1.0.6<5> "
        "posted incorrect receive info: size 77 addr 0 rkeys[0]=0"
    ): MESSAGE,
    (
        "node1:101:207 [0] transport/net_socket.cc:504 NCCL WARN NET/Socket : peer 10.1.0.2<40112> message truncated : "
        "receiving 524288 bytes instead of 65536. If you believe your socket network is in healthy state, there may be a "
        "mismatch in collective sizes or environment settings (e.g. NCCL_PROTO, NCCL_ALGO) between ranks"
    ): (
        "the ranks' calls do not fit together (524288 came where 65536 was expected); each rank must make the "
        "same calls with the same shapes"
    ),
    "ValueError: output tensor size must be equal to world_size times input tensor size": MESSAGE,
    "RuntimeError: Tensor list input to scatter/gather must match number of collective participants": MESSAGE,
    "RuntimeError: All tensor operands to scatter/gather must have the same number of elements": MESSAGE,
    "RuntimeError: Output tensor must have the same size as the input tensor for its rank": MESSAGE,
    "ValueError: Invalid usage of tensors with different dtypesFound torch.float32 and  torch.float64": MESSAGE,
    "Collective sequence number: 5 has errors, error type: MatchState.COLLECTIVE_TYPE_MISMATCH": MESSAGE,
    (
        "accelerate.utils.operations.DistributedOperationException: Cannot apply desired operation due to shape mismatches. "
        "All shapes across devices must be valid."
    ): MESSAGE,
    (
        "DistributedOperationException: Impossible to apply the desired operation due to inadequate data. All elements on "
        "the other process are None"
    ): MESSAGE,
    (
        "RuntimeError: Detected mismatch between collectives on ranks. Rank 1 is running collective: "
        "CollectiveFingerPrint(SequenceNumber=1OpType=BARRIER), but Rank 2 is running collective: "
        "CollectiveFingerPrint(SequenceNumber=0OpType=BARRIER)."
    ): (
        "the ranks' calls do not fit together: rank 1 differs in BARRIER; each rank must make the same calls "
        "with the same shapes"
    ),
    "HorovodInternalError: Mismatched allreduce tensor shapes: One rank sent a tensor of shape [4], but another rank sent a tensor of shape [6].": "the ranks' calls do not fit together; each rank must make the same calls with the same shapes",
}
NOT_THIS = [
    "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
    "RuntimeError: The size of tensor a (4) must match the size of tensor b (8) at non-singleton dimension 0",
    "RuntimeError: DDP expects same model across all ranks, but Rank 0 has 4 params, while rank 1 has inconsistent 6 params.",
    "node1:101:207 [0] bootstrap.cc:300 NCCL WARN Message truncated : received 1024 bytes instead of 256",
    "This is most likely caused by incorrect usages of collectives, e.g., wrong sizes used across ranks",
]
REST = "; each rank must make the same calls with the same shapes"

FLAGGED = [
    """
import torch
import torch.distributed as dist

def shared(numbers):
    match dist.get_rank():
        case 0:
            dist.broadcast(numbers, src=0)  # <-
        case _:
            dist.all_reduce(numbers)
    return numbers

dist.init_process_group("gloo")
print(shared(torch.ones(4)))
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist

def main():
    dist.init_process_group("gloo")
    x = torch.zeros(4)
    if dist.get_rank() == 0:
        dist.broadcast(x, src=0)  # <-
    else:
        dist.all_reduce(x)
""",
    """
import os
import torch
from torch.distributed import all_gather, barrier, init_process_group, reduce

class Metrics:
    def __init__(self):
        self.is_main = int(os.environ["RANK"]) == 0

    def collect(self, value):
        parts = [torch.empty(1) for _ in range(2)]
        if self.is_main:
            all_gather(parts, value)  # <-
        else:
            reduce(value, 0)

init_process_group("gloo")
Metrics().collect(torch.zeros(1))
""",
    """
import torch
import torch.distributed as dist

def summed(x):
    dist.all_reduce(x)
    return x

dist.init_process_group("gloo")
if dist.get_rank() != 0:
    dist.barrier()
else:
    print(summed(torch.zeros(1)))  # <-
""",
]
FINE = [
    """
import torch
import torch.distributed as dist

def shared(numbers):
    match dist.get_rank():
        case 0:
            dist.broadcast(numbers, src=0)
        case _:
            dist.broadcast(numbers, src=0)
    return numbers

dist.init_process_group("gloo")
print(shared(torch.ones(4)))
dist.destroy_process_group()
""",
    """
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
x = torch.zeros(4)
if dist.get_rank() == 0:
    parts = [torch.zeros(4) for _ in range(dist.get_world_size())]
    dist.gather(x, parts)
else:
    dist.gather(x)
""",
    """
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
x = torch.zeros(4)
if dist.get_rank() == 0:
    dist.send(x, dst=1)
else:
    dist.recv(x, src=0)
dist.all_reduce(x)
if dist.get_rank() == 0:
    print(x)
""",
    """
import torch
import torch.distributed as dist

def main(args, x):
    dist.init_process_group("gloo")
    if args.sum:
        dist.all_reduce(x)
    else:
        dist.broadcast(x, 0)
""",
]


@pytest.mark.parametrize(
    ("call", "first"), [("all_gather", "Gather what has another size"), ("all_reduce", "Make the call")]
)
def test_parts_of_another_size_are_gathered_in_another_way(call, first):
    log = (
        "Traceback (most recent call last):\n"
        f'  File "/venv/torch/distributed/distributed_c10d.py", line 4000, in {call}\n'
        "    work.wait()\n"
        "RuntimeError: [enforce fail at pair.cc:446] op.preamble.length <= op.nbytes. 80 vs 64. Is there a distributed "
        "collective mismatch in your code?"
    )
    (finding,) = explain(log).findings
    assert finding.fixes[0].summary.startswith(first)
