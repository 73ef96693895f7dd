"""Time `gpudoctor checkpoint` beside cp and torch.load, in the same run. Run: python tests/benchmarks/checkpoint.py

A zip checkpoint of 4 GB and 1,000 tensors, a sparse one of 40 GB, and one of 100,000 keys, all written by torch. Each
round goes around all commands; a ratio is the median of the rounds' ratios. What is dirty in the disk's cache is
written out before each measurement, so that none pays for the one before. `cp` leaves the copy in memory, where
gpudoctor waits for the disk: what the disk takes for as many bytes alone is measured by `dd`, and `--folder /dev/shm`
leaves the disk out of it. Needs 9 GB of disk. Prints a Markdown table.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from speed import GPUDOCTOR, memory, row, seconds

WRITE = {
    "four.pt": "torch.save({f'module.layer{i}.weight': torch.full((1024, 1024), float(i)) for i in range(1000)}, path)",
    # Memory that is never touched and records without their bytes: holes, which take room in neither.
    "forty.pt": "with torch.serialization.skip_data():\n"
    "    torch.save({f'module.layer{i}.weight': torch.empty(10_000_000) for i in range(1000)}, path)",
    "keys.pt": "torch.save({f'module.layer{i}.weight': torch.full((2,), float(i)) for i in range(100_000)}, path)",
}
DIRECT = ["oflag=direct", "conv=fsync", "status=none"]
LOAD = "import sys, torch; torch.load(sys.argv[1], mmap=True, weights_only=True)"


def make(folder: Path, name: str) -> Path:
    """Write one of the files, in a process of its own, and return its path."""
    path = folder / name
    code = f"import sys, torch\npath = sys.argv[1]\n{WRITE[name]}"
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    return path


def timed(command: list[str], copy: Path) -> float:
    """Run a command that may write a copy, and return how long it took."""
    copy.unlink(missing_ok=True)
    os.sync()
    return seconds(command)


def main() -> None:
    """Make the files, time the commands, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--folder", help="where the files are written; the system's temporary folder otherwise"
    )
    options = parser.parse_args()
    inspect = [*GPUDOCTOR, "checkpoint", "inspect", "--fail-on", "never"]
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        four, forty, keys = (make(folder, file) for file in WRITE)
        copy = folder / "copy.pt"
        fix = [*GPUDOCTOR, "checkpoint", "fix", str(four), "-o", str(copy), "--strip-prefix", "module."]
        commands = {
            "fix": fix,
            "cp": ["cp", str(four), str(copy)],
            "cp, sync": ["sh", "-c", 'cp "$1" "$2" && sync "$2"', "sh", str(four), str(copy)],
            "disk": [
                "dd",
                "if=/dev/zero",
                f"of={copy}",
                "bs=2M",
                f"count={four.stat().st_size >> 21}",
                *DIRECT,
            ],
            "inspect": [*inspect, str(four)],
            "load": [sys.executable, "-c", LOAD, str(four)],
            "keys": [*inspect, str(keys)],
        }
        times: dict[str, list[float]] = {what: [] for what in commands}
        for number in range(options.rounds + 1):  # the first warms the disk's cache
            for what, command in commands.items():
                taken = timed(command, copy)
                if number:
                    times[what].append(taken)
        print("| | gpudoctor | beside it | ratio |\n|---|---|---|---|")
        print(row("`fix --strip-prefix`, 4 GB, 1,000 tensors", times["fix"], "`cp`", times["cp"]))
        print(row("the same, the copy safe on the disk", times["fix"], "`cp` and `sync`", times["cp, sync"]))
        print(row("the same", times["fix"], "the disk alone, `dd`", times["disk"]))
        print(row("`inspect`, 4 GB, 1,000 tensors", times["inspect"], "`torch.load`, mmap", times["load"]))
        print(row("`inspect`, 100,000 keys", times["keys"]))
        copy.unlink(missing_ok=True)
        for what, command in (
            ("`fix`, 4 GB", fix),
            ("`inspect`, 4 GB", commands["inspect"]),
            ("`inspect`, 40 GB", [*inspect, str(forty)]),
            ("`inspect`, 100,000 keys", commands["keys"]),
        ):
            print(f"| most memory, {what} | {memory(command):.0f} MB | | |")


if __name__ == "__main__":
    main()
