"""The job is killed while it saves: half a file lies where the last good checkpoint was."""
# run: python broken.py
# needs: torch
# needs: Linux

import multiprocessing
import os
import resource
import signal
import tempfile

import torch

path = os.path.join(tempfile.mkdtemp(), "last.pt")
weight = torch.zeros(100_000)


def save(epoch):
    state = {"epoch": epoch, "weight": weight}
    torch.save(state, path)


def killed_while_saving():
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # the kernel kills it at the size below
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    save(epoch=2)


save(epoch=1)
job = multiprocessing.get_context("fork").Process(target=killed_while_saving)
job.start()
job.join()
print(f"resumed from epoch {torch.load(path, map_location='cpu')['epoch']}")
