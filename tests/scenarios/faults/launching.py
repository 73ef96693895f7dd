"""Launch variables that do not fit the machine."""

from tests.scenarios.fault import Fault, variables

FAULTS = [
    Fault(
        "visible-beyond",
        "board-8xh100",
        variables(CUDA_VISIBLE_DEVICES="0,1,9"),
        "cuda-visible-devices",
        says="names 9",
    ),
    Fault("visible-twice", "board-8xh100", variables(CUDA_VISIBLE_DEVICES="0,1,1"), "cuda-visible-devices"),
]
