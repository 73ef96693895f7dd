"""Time `gpudoctor lint` beside TorchFix, and on a million lines. Run: python tests/benchmarks/lint.py --torchfix PATH

`--torchfix` names TorchFix 0.7's command (`uv tool install torchfix==0.7.0`). Rounds go around both commands, so that a
slow moment of the machine meets each; the ratio is the median of the rounds' ratios. Processor seconds, of a command
and its children, stand beside the wall clock's: on a shared machine they are what can be compared.
"""

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

SCRIPTS = Path(__file__).parent.parent / "scripts"
GPUDOCTOR = [sys.executable, "-m", "gpudoctor", "lint", "--fail-on", "never", "-q"]
FILES, LINES, MILLION = 100, 11_000, 1_000_000


def timed(command: list[str], folder: Path) -> tuple[float, float]:
    """Run a command in a folder; return its seconds on the wall, and on processors with its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    wall = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def small(folder: Path) -> int:
    """Fill a folder with good training scripts, each again and again until it is long enough; return the lines."""
    texts = [path.read_text() for path in sorted(SCRIPTS.glob("*.py"))]
    total = 0
    for number in range(FILES):
        text = texts[number % len(texts)]
        while text.count("\n") < LINES // FILES:
            text += text
        total += text.count("\n")
        (folder / f"train_{number}.py").write_text(text)
    return total


def large(folder: Path) -> int:
    """Copy torch's own Python files into a folder until they are a million lines; return how many there are."""
    total, copies = 0, 0
    root = Path(torch.__file__).parent
    while total < MILLION:
        copies += 1
        for path in sorted(root.rglob("*.py")):
            target = folder / f"copy_{copies}" / path.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            total += path.read_bytes().count(b"\n")
            if total >= MILLION:
                break
    return total


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torchfix", default=shutil.which("torchfix"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-million", action="store_true")
    options = parser.parse_args()
    print("| what | wall | processor |\n| --- | --- | --- |")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = small(folder)
        commands = {"gpudoctor lint": [*GPUDOCTOR, "."]}
        if options.torchfix:
            commands["torchfix --select ALL"] = [options.torchfix, "--select", "ALL", "."]
        times = {
            what: [timed(command, folder) for _ in range(1)] and [] for what, command in commands.items()
        }
        for _ in range(options.rounds):
            for what, command in commands.items():
                times[what].append(timed(command, folder))
        for what, each in times.items():
            wall, processor = (statistics.median(column) for column in zip(*each, strict=True))
            print(f"| `{what}`, {FILES} files, {lines:,} lines | {wall:.2f} s | {processor:.2f} s |")
        if len(times) == 2:
            own, other = times.values()
            ratio = [statistics.median(b[n] / a[n] for a, b in zip(own, other, strict=True)) for n in (0, 1)]
            print(f"| TorchFix's time is that of gpudoctor | {ratio[0]:.0f} x | {ratio[1]:.0f} x |")
    if not options.no_million:
        with tempfile.TemporaryDirectory() as name:
            lines = large(Path(name))
            wall, processor = timed([*GPUDOCTOR, "."], Path(name))
            print(f"| `gpudoctor lint`, {lines:,} lines of torch's own | {wall:.1f} s | {processor:.1f} s |")
    print(
        f"\n{len(os.sched_getaffinity(0))} processors, Python {sys.version.split()[0]}, {options.rounds} rounds."
    )


if __name__ == "__main__":
    main()
