"""Time gpudoctor beside what it is measured against, in the same run. Run: python tests/benchmarks/speed.py

Rounds go around all commands, so that a slow moment of the machine meets each of them; a ratio is the median of the
rounds' ratios. Prints a Markdown table, which the README quotes.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

SCRIPTS = Path(__file__).parent.parent / "scripts"
LINES = (1_000, 10_000)
"""Lines of the scripts that `check` reads beside the machine."""
NVML = Path(__file__).parent.parent / "nvml" / "nvml.c"
GPU = "gpu name=NVIDIA H100 80GB HBM3 uuid=GPU-{n:08d} capability=9.0 memory=85899345920 pci=0000:{n:02x}:00.0 links=18"
SLOW = 20
"""Milliseconds that each call of NVML takes on the simulated nodes."""
NEVER = ["--fail-on", "never"]
GPUDOCTOR = [sys.executable, "-m", "gpudoctor"]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]


def seconds(command: list[str]) -> float:
    """Run a command to its end and return how long that took."""
    begun = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr.decode()[-2000:]}")
    return time.perf_counter() - begun


def memory(command: list[str]) -> float:
    """Run a command and return the most memory that it itself held, without its children, in MB."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    most = [0]

    def watch() -> None:
        while process.poll() is None:
            try:
                status = Path(f"/proc/{process.pid}/status").read_text()
            except OSError:
                return
            held = [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")]
            most[0] = max([*most, *held])
            time.sleep(0.01)

    watcher = threading.Thread(target=watch)
    watcher.start()
    process.wait()
    watcher.join()
    return most[0] * 1024 / 1e6


def rounds(commands: dict[str, list[str]], count: int) -> dict[str, list[float]]:
    """Time every command once a round; a round before the first warms the disk's cache."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(count + 1):
        for name, command in commands.items():
            taken = seconds(command)
            if number:
                times[name].append(taken)
    return times


def row(what: str, times: list[float], against: str = "", others: list[float] | None = None) -> str:
    """Write one row of the table."""
    median = f"{statistics.median(times):.2f} s"
    if others is None:
        return f"| {what} | {median} | | |"
    ratio = statistics.median(a / b for a, b in zip(times, others, strict=True))
    return f"| {what} | {median} | {against}: {statistics.median(others):.2f} s | {ratio:.2f} x |"


def simulated(folder: Path, gpus: int) -> list[str]:
    """Return `check` on a node whose NVML has GPUs and is slow: the stand-in of the tests, compiled."""
    library, scenario = folder / "libnvidia-ml.so.1", folder / f"{gpus}.txt"
    if not library.exists():
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, NVML], check=True)
    scenario.write_text("\n".join([f"delay {SLOW}", *(GPU.format(n=n) for n in range(gpus))]) + "\n")
    variables = [f"LD_LIBRARY_PATH={folder}", f"NVML_SCENARIO={scenario}"]
    return ["env", *variables, *GPUDOCTOR, "check", "--python", sys.executable, *NEVER]


def script(folder: Path, lines: int) -> str:
    """Write a training script of so many lines, of the tests' good ones, and return its path."""
    texts = [path.read_text() for path in sorted(SCRIPTS.glob("*.py"))]
    text = ""
    while text.count("\n") < lines:
        text += texts[text.count("\n") % len(texts)]
    path = folder / f"train_{lines}.py"
    path.write_text(text)
    return str(path)


def slower(what: str, times: list[float], others: list[float]) -> str:
    """Write a row that says by how much a command is slower than `check` alone: the median of the rounds."""
    more = statistics.median(a - b for a, b in zip(times, others, strict=True))
    alone = f"`gpudoctor check`: {statistics.median(others):.2f} s"
    return f"| {what} | {statistics.median(times):.2f} s | {alone} | {more:+.2f} s |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--training-rounds", type=int, default=3)
    options = parser.parse_args()
    os.environ["PYTHONDONTWRITEBYTECODE"] = ""
    nodes = Path(tempfile.mkdtemp())
    quick = rounds(
        {
            "help": [*GPUDOCTOR, "--help"],
            "show": [*GPUDOCTOR, "show", "port-in-use"],
            "check": [*GPUDOCTOR, "check", "--python", sys.executable],
            "import": [sys.executable, "-c", "import torch"],
            "collect_env": [sys.executable, "-m", "torch.utils.collect_env"],
            "eight": simulated(nodes, 8),
            "sixteen": simulated(nodes, 16),
            **{
                f"{lines}": [*GPUDOCTOR, "check", script(nodes, lines), "--python", sys.executable, *NEVER]
                for lines in LINES
            },
        },
        options.rounds,
    )
    shutil.rmtree(nodes)
    with tempfile.TemporaryDirectory() as folder:
        by_hand = Path(folder, "ddp.py")
        printed = subprocess.run(
            [*GPUDOCTOR, "repro", "ddp", "--script"], capture_output=True, text=True, check=True
        )
        by_hand.write_text(printed.stdout)
        training = rounds(
            {
                "repro": [*GPUDOCTOR, "repro", "ddp", "--nproc", "2", "--python", sys.executable],
                "torchrun": [*TORCHRUN, str(by_hand)],
            },
            options.training_rounds,
        )
    held = memory([*GPUDOCTOR, "check", "--python", sys.executable])
    print("| what | median | against | ratio |\n| --- | --- | --- | --- |")
    print(row("`gpudoctor --help`", quick["help"]))
    print(row("`gpudoctor show port-in-use`", quick["show"]))
    print(row("`gpudoctor check`", quick["check"], '`python -c "import torch"`', quick["import"]))
    print(
        row("`gpudoctor check`", quick["check"], "`python -m torch.utils.collect_env`", quick["collect_env"])
    )
    for lines in LINES:
        what = f"`gpudoctor check` with a script of {lines:,} lines"
        print(slower(what, quick[f"{lines}"], quick["check"]))
    print(row(f"`gpudoctor check`, 8 GPUs, {SLOW} ms for each call of NVML", quick["eight"]))
    print(row(f"`gpudoctor check`, 16 GPUs, {SLOW} ms for each call of NVML", quick["sixteen"]))
    print(
        row("`gpudoctor repro ddp`", training["repro"], "the same script by torchrun", training["torchrun"])
    )
    print(f"\nMost memory of `gpudoctor check`'s own process: {held:.0f} MB.")
    print(f"{os.cpu_count()} processors, Python {sys.version.split()[0]}, {options.rounds} rounds.")


if __name__ == "__main__":
    main()
