"""Draw the README's pictures anew from real runs: python tests/picture.py

A listener takes a port, a launch is set up to use it, and `gpudoctor check` looks at the machine that this runs on.
Then `gpudoctor explain` reads what four ranks wrote of which one ran out of memory, and `gpudoctor checkpoint inspect`
says why the file of a DataParallel model does not load into the bare one.
"""

import functools
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path

from rich.console import Console

from gpudoctor import Report, explain, inspect
from gpudoctor.importers import read
from gpudoctor.registry import Registry
from gpudoctor.render import terminal

DOCS = Path(__file__).parent.parent / "docs"
TIMEOUT = (
    "[rank{0}]:[E ProcessGroupNCCL.cpp:629] [Rank {0}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=811, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600012 milliseconds before timing out."
)
LOG = """\
[rank1]: Traceback (most recent call last):
[rank1]:   File "/home/me/train.py", line 87, in train
[rank1]:     loss.backward()
[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 79.15 \
GiB of which 1.19 GiB is free. Process 4711 has 77.95 GiB memory in use. Of the allocated memory 70.10 GiB is \
allocated by PyTorch, and 6.80 GiB is reserved by PyTorch but unallocated.
""" + "\n".join(TIMEOUT.format(rank) for rank in (0, 2, 3))

NET = """\
from torch import nn

class Net(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.Flatten(), nn.LazyLinear(10))
"""
SAVE = """\
import torch
from net import Net

model = Net()
model(torch.zeros(1, 1, 28, 28))
torch.save(torch.nn.DataParallel(model).state_dict(), "mnist_cnn.pt")
"""


def main() -> None:
    """Write the pictures."""
    code = "import socket, time; s = socket.create_server(('127.0.0.1', 29500)); print(flush=True); time.sleep(99)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as job:
        assert job.stdout is not None
        job.stdout.readline()
        launch = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            begun = time.monotonic()
            command = [sys.executable, "-m", "gpudoctor", "check", "-q", "-o", file.name]
            subprocess.run(command, env={**os.environ, **launch}, check=False)
            seconds = time.monotonic() - begun
            report = read(file.name, Registry().topics).report
        job.kill()
    assert report is not None
    draw(report, "check", functools.partial(terminal.render, seconds=seconds))
    explained = explain(LOG, name="train.log")
    explained.version = report.version
    draw(explained, "explain", terminal.render)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "net.py").write_text(NET)
        subprocess.run([sys.executable, "-c", SAVE], cwd=folder, check=True)
        os.chdir(folder)
        report = inspect("mnist_cnn.pt", against="net.py:Net", python=sys.executable)
    report.version = explained.version
    draw(report, "checkpoint", terminal.render, width=152)


def draw(report: Report, name: str, drawn: Callable[[Report, Console], None], width: int = 110) -> None:
    """Write the picture of a report as the command of that name shows it on a terminal."""
    console = Console(
        record=True, width=width, file=StringIO(), force_terminal=True, highlight=False, markup=False
    )
    drawn(report, console)
    picture = console.export_svg(title=f"gpudoctor {name}", unique_id="gpudoctor")
    # No font from another host: the viewer's own monospace font does.
    text = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL).replace("Fira Code", "monospace")
    (DOCS / f"{name}.svg").write_text(text)


if __name__ == "__main__":
    main()
