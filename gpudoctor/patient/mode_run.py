"""How every training mode is run by hand and by gpudoctor: its options, its events, its exit code."""

from __future__ import annotations

import argparse
import faulthandler
import json
import math
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import torch

OLDEST = 1, 13  # has all that is called here, and is the oldest that was tried
DEFAULT_EPOCHS = 3
SETS = ("mnist", "fashion-mnist", "cifar10")
MODELS = ("net", "lenet", "resnet18", "resnet50")
SMALL = ("net", "lenet")
FEW_IMAGES = 1280  # for a ResNet without a GPU: an epoch of all 6000 takes minutes there


def emit(event: str, **fields: Any) -> None:
    """One JSON object on one line, in one write, so that the lines of several ranks cannot mix."""
    nan = [name for name, value in fields.items() if isinstance(value, float) and not math.isfinite(value)]
    event_with_null = {"event": event, **fields, **dict.fromkeys(nan)}  # JSON has no nan
    os.write(1, (json.dumps(event_with_null) + "\n").encode())


def complain(text: str) -> None:
    """Plain words for a log, in one write."""
    os.write(2, (text + "\n").encode())


def set_seed(seed: int) -> None:
    torch.manual_seed(seed)  # every GPU too
    # TF32 keeps 10 bits of the mantissa; its rounding would hide small differences between two gradients.
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False


class UsageError(Exception):
    """The options cannot be meant so; the message says why in one line."""


class Fault(Exception):
    """Something is wrong with the machine, this Python or the files; the last line has the words it is known by."""


def devices_of(options: argparse.Namespace) -> list[torch.device]:
    """The devices of a mode of one process: those named, else as many GPUs as wanted, else as many times the CPU."""
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if options.devices:
        names = [f"cuda:{name}" if name.isdecimal() else name for name in options.devices.split(",")]
        try:
            devices = [torch.device(name) for name in names]
        except RuntimeError as error:
            raise UsageError(f"--devices {options.devices}: {str(error).splitlines()[0]}") from error
        if len({device.type for device in devices}) > 1:
            raise UsageError(f"--devices {options.devices}: all on GPUs, or all on the CPU")
        missing = [str(d) for d in devices if d.type == "cuda" and (d.index or 0) >= gpus]
        if missing:
            raise UsageError(
                f"--devices {options.devices}: torch sees {gpus} GPU(s) here, so no {missing[0]}"
            )
        return devices
    if gpus:
        return [torch.device("cuda", number) for number in range(min(options.nproc or gpus, gpus))]
    return [torch.device("cpu")] * (options.nproc or 2)


def parser_of(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", choices=SETS, default="mnist", help="the set of images (mnist)")
    parser.add_argument("--data-dir", metavar="DIR", help="the set's own files, instead of images drawn here")
    parser.add_argument("--model", choices=MODELS, help="the network (net; manual: lenet)")
    parser.add_argument("--epochs", type=int, default=DEFAULT_EPOCHS)
    parser.add_argument("--batch-size", type=int, default=64, help="over all devices together (64)")
    parser.add_argument(
        "--nproc", type=int, help="devices of a mode of one process (all GPUs; 2 CPU replicas)"
    )
    parser.add_argument("--devices", metavar="LIST", help="such as 0,1 or cuda:0,cuda:1 or cpu,cpu")
    parser.add_argument("--backend", metavar="NAME", help="of ddp and average: nccl or gloo")
    parser.add_argument(
        "--checkpoint", metavar="FILE", help="of ddp: resumed from, if it is there, and written"
    )
    parser.add_argument("--seed", type=int, default=1, help="of parameters, order and dropout (1)")
    parser.add_argument("--limit", type=int, help="use no more training images than this")
    parser.add_argument("--measure", type=int, metavar="STEPS", help="time this many steps, and do not train")
    return parser


def parsed(parser: argparse.ArgumentParser, model: str) -> argparse.Namespace:
    """The options, with what depends on others filled in; `model` is the mode's own."""
    options = parser.parse_args()
    options.model = options.model or model
    if options.limit is None:
        small = options.model in SMALL or torch.cuda.is_available()
        options.limit = 60000 if small else FEW_IMAGES
    numbers = [options.epochs, options.batch_size, options.limit, options.nproc, options.measure]
    if min(number for number in numbers if number is not None) < 1:
        parser.error("--epochs, --batch-size, --nproc, --limit and --measure must be at least 1")
    return options


def run(main: Callable[[argparse.Namespace], int], description: str | None, model: str = "net") -> None:
    """Exit with 0: passed, 1: failed, 2: options that cannot be meant."""
    options = parsed(parser_of(description), model)
    # `kill -USR1 PID` shows where a process stands that does not come to an end.
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    torch.set_num_threads(1)  # as under torchrun: for so small a network, threads wait more than they work
    try:
        if tuple(map(int, torch.__version__.split(".")[:2])) < OLDEST:
            needed = ".".join(map(str, OLDEST))
            raise Fault(
                f"ImportError: this script requires torch>={needed}, and torch {torch.__version__} is installed"
            )
        code = main(options)
    except Fault as fault:
        complain(str(fault))
        code = 1
    except UsageError as error:
        emit("error", text=str(error))
        complain(str(error))
        code = 2
    # All is said. Over gloo, torch 2.15 sometimes aborts later, while the interpreter ends ("terminate called
    # without an active exception"; 4 of 46 runs with two ranks), and torch 1.13 hangs there: leave before that.
    sys.stderr.flush()
    os._exit(code)
