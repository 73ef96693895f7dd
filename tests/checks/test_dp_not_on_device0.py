"""dp-not-on-device0: seen in logs; no fact of the environment shows it."""

import re

from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Source
from gpudoctor.registry import Registry

CHECK = Registry().check("dp-not-on-device0")
MESSAGE = "part of the module is not on the first GPU of DataParallel"
EXAMPLES = {
    (
        "RuntimeError: module must have its parameters and buffers on device cuda:0 "
        "(device_ids[0]) but found one of them on device: cpu"
    ): MESSAGE + ": it is on cpu instead of cuda:0",
    (
        "RuntimeError: module must have its parameters and buffers on device cuda:1 "
        "(device_ids[0]) but found one of them on device: cuda:0"
    ): MESSAGE + ": it is on cuda:0 instead of cuda:1",
    "RuntimeError: all tensors must be on devices[0]": MESSAGE,
    "RuntimeError: All tensors must be on devices[0]: 0": MESSAGE,
    "AssertionError: Broadcast function not implemented for CPU tensors": MESSAGE,
}
TEXTS = list(EXAMPLES)
NOT_THIS = [
    (
        "RuntimeError: Expected all tensors to be on the same device, but found at least two "
        "devices, cuda:0 and cpu!"
    ),
    "AssertionError: Gather function not implemented for CPU tensors",
    '    "module must have its parameters and buffers "',
]


def test_the_devices_are_quoted():
    [match] = matches(TEXTS[0], [CHECK])
    assert match.sighting.groups == {"expected": "cuda:0", "found": "cpu"}


def test_no_fact_of_the_environment_shows_it():
    assert Source.ENVIRONMENT not in CHECK.functions
    assert all(fix.command for fix in CHECK.fixes)
    assert re.search(r"\.to\(.cuda:0.\)", CHECK.fixes[0].command)
