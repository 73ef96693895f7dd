"""Draw the README's picture anew from a real run: python tests/picture.py

A listener takes a port, a launch is set up to use it, and `gpudoctor check` looks at the machine that this runs on.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from io import StringIO
from pathlib import Path

from rich.console import Console

from gpudoctor.importers import read
from gpudoctor.registry import Registry
from gpudoctor.render.terminal import render

TARGET = Path(__file__).parent.parent / "docs/check.svg"


def main() -> None:
    """Run the check and write the picture."""
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
    console = Console(
        record=True, width=110, file=StringIO(), force_terminal=True, highlight=False, markup=False
    )
    render(report, console, seconds=seconds)
    picture = console.export_svg(title="gpudoctor check", unique_id="gpudoctor")
    # No font from another host: the viewer's own monospace font does.
    TARGET.write_text(
        re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL).replace("Fira Code", "monospace")
    )


if __name__ == "__main__":
    main()
