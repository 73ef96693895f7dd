"""What each device gives on its own: all GPUs at once, as in a training, or the processor."""

from pathlib import Path
from typing import Any

import msgspec

from gpudoctor.deep.bench import Bench
from gpudoctor.facts import DeviceSpeed, Missing
from gpudoctor.patient_process import Conversation

GPU_SECONDS = 45.0
"""The import of torch and a context take up to 15 s where eight processes start at once, the rest about 8 s."""
CPU_SECONDS = 14.0
GPU = {"seconds": 4.0, "bytes": 256 << 20, "matrix": 8192}
CPU = {"seconds": 1.0, "bytes": 128 << 20, "matrix": 1024}


def measure_gpus(bench: Bench, count: int) -> tuple[list[DeviceSpeed], list[Missing]]:
    """Measure `count` GPUs, each in a process of its own; copies from and to the host take turns."""
    turn = str(Path(bench.folder, "turn"))
    measurings = [
        bench.script(f"GPU {n}", "device_speed.py", {**GPU, "device": f"cuda:{n}", "turn": turn}, GPU_SECONDS)
        for n in range(count)
    ]
    bench.run(measurings)
    return told(measurings)


def measure_processor(bench: Bench) -> tuple[list[DeviceSpeed], list[Missing]]:
    """Measure the host's memory and its matrix product, with all threads that torch takes."""
    measuring = bench.script("processor", "device_speed.py", {**CPU, "device": "cpu"}, CPU_SECONDS)
    bench.run([measuring])
    return told([measuring])


def told(measurings: list[Conversation]) -> tuple[list[DeviceSpeed], list[Missing]]:
    """Return what processes told of their devices, and what they could not measure."""
    devices, missing = [], []
    for measuring in measurings:
        facts: dict[str, Any] = measuring.last("device") or {}
        if "ordinal" in facts:
            devices.append(msgspec.convert(facts, DeviceSpeed))
        missing += [
            Missing(what=f"{measuring.child.name}: {message['missing']}", why=str(message.get("why", "")))
            for message in measuring.told
            if "missing" in message
        ]
        if measuring.why:
            missing.append(Missing(what=measuring.child.name, why=measuring.why))
    return devices, missing
