"""Be one rank of all-reduces: how long the first takes, the bus bandwidth by size, and whether the sums are right.

Run: python all_reduce.py '{"backend": "gloo", "device": "cpu", "rank": 0, "ranks": 2, "store": "FILE",
"sizes": [1048576], "seconds": 1, "patience": 20}', once for each rank.

The ranks meet in a file, so that no port and no host name plays a part. Rank 0 tells the figures, every rank what it
received wrong.
"""

import json
import os
import sys
import time
from datetime import timedelta

ELEMENTS = {"cuda": 1 << 20, "cpu": 1 << 16}
LARGEST_VERIFIED = 64 << 20  # bytes: what must come out is made on the host, by each rank
TYPES = ("float32", "float16", "bfloat16", "int32", "int64")
ALIVE = []  # gloo's thread must not be the last to let go of a tensor


def tell(message):
    text = json.dumps(message, ensure_ascii=False)
    os.write(1, ("\ngpudoctor " + text + "\n").encode("utf-8", "replace"))


def synchronize(torch, device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def contribution(torch, elements, rank, kind, device):
    """Return what one rank brings: whole numbers that differ by rank and by place."""
    return (torch.arange(elements, device=device) % 7 + rank + 1).to(kind)


def total(torch, elements, ranks, kind):
    """Return the sum over all ranks; it is at most 256 for 16 ranks, and exact in each of the types."""
    place = torch.arange(elements) % 7
    return (place * ranks + ranks * (ranks + 1) // 2).to(kind)


def compare(torch, received, wanted):
    """Return what is wrong with a result, in words; nothing where all is right."""
    wrong = torch.nonzero(received != wanted).flatten()
    if not len(wrong):
        return ""
    at = int(wrong[0])
    return "{} of {} elements, element {} is {:g} and must be {:g}".format(
        len(wrong), len(wanted), at, float(received[at]), float(wanted[at])
    )


def verify(torch, dist, request, device, name, elements):
    """All-reduce a known pattern and compare; return whether this backend sums that type, and exactly."""
    kind, rank, ranks = getattr(torch, name), request["rank"], request["ranks"]
    if name == "bfloat16" and ranks > 16:  # sums above 256 are rounded
        return False
    values = contribution(torch, elements, rank, kind, device)
    try:
        dist.all_reduce(values)
    except (RuntimeError, ValueError) as error:
        if any(word in str(error) for word in ("Invalid scalar type", "nsupported", "not supported")):
            return False
        raise
    ALIVE.append(values)
    if wrong := compare(torch, values.cpu(), total(torch, elements, ranks, kind)):
        tell({"wrong": "rank {}, {}: {}".format(rank, name, wrong)})
    return True


def together(torch, dist, device, seconds):
    """Return the longest time of any rank: a collective takes as long as its slowest rank."""
    values = torch.tensor([seconds], dtype=torch.float32, device=device)
    dist.all_reduce(values, dist.ReduceOp.MAX)
    ALIVE.append(values)
    return float(values.item())


def repeated(torch, dist, values, device, times):
    dist.barrier() if device.type == "cpu" else synchronize(torch, device)
    begun = time.perf_counter()
    for _ in range(times):
        dist.all_reduce(values)
    synchronize(torch, device)
    return time.perf_counter() - begun


def payload(torch, dist, request, device, size, seconds):
    """Return the bus bandwidth of one size, as nccl-tests computes it."""
    values = torch.zeros(max(1, size // 4), dtype=torch.float32, device=device)
    ALIVE.append(values)
    once = together(torch, dist, device, min(repeated(torch, dist, values, device, 1) for _ in range(2)))
    times = int(max(1, min(200, seconds / max(once, 1e-6))))
    each = together(torch, dist, device, repeated(torch, dist, values, device, times)) / times
    ranks = request["ranks"]
    del ALIVE[-3:]
    return {"size": size, "seconds": each, "bus": 2 * (ranks - 1) / ranks * size / each / 1e9}


def join(torch, dist, request, device):
    """Join the others, and return the seconds that this and the first all-reduce took."""
    if device.type == "cuda":
        torch.cuda.set_device(device)
    begun = time.perf_counter()
    dist.init_process_group(
        request["backend"],
        init_method="file://" + request["store"],
        rank=request["rank"],
        world_size=request["ranks"],
        timeout=timedelta(seconds=request["patience"]),
    )
    initialised = time.perf_counter() - begun
    begun = time.perf_counter()
    values = torch.ones(1, device=device)
    dist.all_reduce(values)
    synchronize(torch, device)
    ALIVE.append(values)
    return initialised, time.perf_counter() - begun


def main(request):
    tell({"doing": "import torch"})
    import torch
    import torch.distributed as dist

    device = torch.device(request["device"])
    first = request["rank"] == 0
    tell({"doing": "init_process_group and the first all-reduce"})
    initialised, reduced = join(torch, dist, request, device)
    if first:
        tell({"figures": {"initialised": initialised, "first": reduced}})
    tell({"doing": "all-reduce with a known result"})
    elements = ELEMENTS[device.type]
    checked = [name for name in TYPES if verify(torch, dist, request, device, name, elements)]
    if first:
        tell({"figures": {"checked": checked}})
    figures = None
    for size in request["sizes"]:
        # Every rank has the same figures, and so comes to the same end.
        if figures and 3 * figures["seconds"] * size / figures["size"] > request["patience"] / 4:
            break
        tell({"doing": "all-reduce of {} bytes".format(size)})
        figures = payload(torch, dist, request, device, size, request["seconds"] / len(request["sizes"]))
        if first:
            tell({"payload": figures})
    verify(torch, dist, request, device, "float32", max(1, min(LARGEST_VERIFIED, figures["size"]) // 4))
    tell({"doing": "leaving the group"})
    dist.barrier()
    dist.destroy_process_group()  # a rank that goes takes the memory away that another one may still read
    tell({"doing": "done"})


if __name__ == "__main__":
    asked = json.loads(sys.argv[2] if len(sys.argv) > 2 else sys.argv[1])
    try:
        main(asked)
    except Exception as error:
        text = str(error).strip()
        tell({"failed": text.split("\n")[0][:300] or type(error).__name__})
        os._exit(1)
    os._exit(0)  # all is told; what torch does on the way out costs time and may hang
