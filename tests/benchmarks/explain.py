"""Time `gpudoctor explain` beside grep, in the same run. Run: python tests/benchmarks/explain.py

A log of 1 GiB as 64 interleaved ranks write it (make_log.py), read by gpudoctor, and by ``grep -c -F -f`` with the very
literals that gpudoctor searches for; and a paste of 200 lines. Prints a Markdown table, which the README quotes.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import make_log
from speed import GPUDOCTOR, memory

from gpudoctor.logs.literal_index import registry_finder
from gpudoctor.registry import Registry


def timed(command: list[str], codes: tuple[int, ...]) -> float:
    """Run a command and return how long it took; another exit code than those ends the benchmark."""
    begun = time.perf_counter()
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode not in codes:
        sys.exit(f"{command}: exit status {done.returncode}\n{done.stderr.decode()[-2000:]}")
    return time.perf_counter() - begun


def main() -> None:
    """Make the log, time both, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log, literals, paste = (Path(folder, name) for name in ("train.log", "literals", "paste.log"))
        make_log.write(log, options.mib << 20)
        literals.write_bytes(b"\n".join(registry_finder(Registry()).texts) + b"\n")
        lines = log.read_bytes()[:100_000].split(b"\n")[:190]
        paste.write_bytes(b"\n".join([*lines, make_log.FAILURE.encode()]))
        explain = [*GPUDOCTOR, "explain", "-q", str(log)]
        grep = ["grep", "-c", "-F", "-f", str(literals), str(log)]
        pairs = [(timed(explain, (1,)), timed(grep, (0,))) for _ in range(options.rounds + 1)][1:]
        ours, theirs = (statistics.median(times) for times in zip(*pairs, strict=True))
        ratio = statistics.median(a / b for a, b in pairs)
        short = statistics.median(timed([*GPUDOCTOR, "explain", "-q", str(paste)], (1,)) for _ in range(5))
        size = log.stat().st_size
        print("| | measured |\n|---|---|")
        print(
            f"| `explain` of {size / 2**30:.2f} GiB, 64 ranks | {ours:.2f} s, {size / ours / 1e6:.0f} MB/s |"
        )
        print(
            f"| `grep -c -F -f` with the same {len(registry_finder(Registry()).texts)} literals | {theirs:.2f} s |"
        )
        print(f"| ratio to grep | {ratio:.2f} |")
        print(f"| most memory | {memory(explain):.0f} MB |")
        print(f"| `explain` of a paste of 200 lines, from start to finish | {short:.2f} s |")


if __name__ == "__main__":
    main()
