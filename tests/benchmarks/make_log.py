"""Write a log as 64 interleaved ranks would: ``python make_log.py PATH BYTES``.

Progress lines, NCCL's information, warnings that mean nothing, and one failure in the middle that ends all ranks.
"""

import random
import sys
from pathlib import Path

RANKS, SEED = 64, 7
BLOCK = 8 << 20


def healthy(random_: random.Random, step: int) -> str:
    """One line of a rank that trains."""
    rank = random_.randrange(RANKS)
    node, gpu = divmod(rank, 8)
    clock = f"2026-03-04T05:{step // 60000 % 60:02d}:{step // 1000 % 60:02d}.{step % 1000:03d}"
    kind = random_.random()
    if kind < 0.75:
        return (
            f"[rank{rank}]: {clock}Z step {step} loss {random_.random():.5f} lr {random_.random() / 1000:.6f} "
            f"grad_norm {random_.random() * 3:.3f} tokens/s {random_.randrange(9000, 12000)} mem {random_.random() * 80:.1f}GiB"
        )
    if kind < 0.93:
        peer = (rank + 1) % RANKS
        return (
            f"node{node}:{41000 + rank}:{42000 + rank} [{gpu}] NCCL INFO Channel {step % 16:02d}/0 : "
            f"{rank}[{gpu}] -> {peer}[{peer % 8}] via P2P/CUMEM/read"
        )
    if kind < 0.97:
        done = step % 1000
        return f"Epoch {step // 1000}: {done // 10:3d}%|{'█' * (done // 50):<20}| {done}/1000 [00:{step % 60:02d}<00:10, 9.1it/s]"
    return (
        f"[rank{rank}]: /opt/venv/lib/python3.12/site-packages/torch/optim/lr_scheduler.py:62: UserWarning: The verbose "
        "parameter is deprecated. Please use get_last_lr() to access the learning rate."
    )


FAILURE = """\
[rank13]: Traceback (most recent call last):
[rank13]:   File "/home/user/train.py", line 212, in <module>
[rank13]:     main()
[rank13]:   File "/home/user/train.py", line 187, in main
[rank13]:     loss.backward()
[rank13]:   File "/opt/venv/lib/python3.12/site-packages/torch/_tensor.py", line 648, in backward
[rank13]:     torch.autograd.backward(
[rank13]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 5 has a total capacity of 79.15 GiB \
of which 1.19 GiB is free. Including non-PyTorch memory, this process has 77.95 GiB memory in use.
"""
ECHO = (
    "[rank{rank}]:[E304 05:40:00.1 ProcessGroupNCCL.cpp:629] [Rank {rank}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=811, OpType=ALLREDUCE, NumelIn=1048576, NumelOut=1048576, Timeout(ms)=600000) ran for 600012 "
    "milliseconds before timing out.\n"
)


def write(path: Path, size: int) -> None:
    """Write a log of about `size` bytes."""
    random_ = random.Random(SEED)
    blocks = []
    for number in range(4):
        text = "\n".join(healthy(random_, number * 100000 + step) for step in range(BLOCK // 135)) + "\n"
        blocks.append(text.encode())
    with path.open("wb") as file:
        written, failed = 0, False
        while written < size:
            if not failed and written > size // 2:
                file.write(FAILURE.encode())
                failed = True
            written += file.write(random_.choice(blocks))
        for rank in range(RANKS):
            file.write(ECHO.format(rank=rank).encode())


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]))
