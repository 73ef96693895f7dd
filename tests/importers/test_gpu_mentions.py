"""The GPU of which somebody writes, beside a torch for the CPU."""

import pytest

CPU = "Also checking the torch version reveals 2.0.0+cpu\n"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("it wont find my gpu (RTX 3060 Ti) at all\n", ["RTX 3060 Ti"]),
        ("I have a Tesla T4 here\n", ["Tesla T4"]),
        ("works with my RTX 3090, not with my RTX 4090\n", None),
        ("RTX 3090 is recommended\n", None),
    ],
)
def test_what_is_said_to_be_there(text, names, facts_of):
    gpus = facts_of(text + CPU).get("gpus")
    assert (gpus and [gpu.name for gpu in gpus.devices]) == names


def test_beside_a_torch_for_cuda_nobody_asks(facts_of):
    assert "gpus" not in facts_of("my gpu is an RTX 3060\n" + CPU.replace("cpu", "cu118"))
