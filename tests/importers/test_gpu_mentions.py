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
        ("with 2x rtx3090 Ti it hangs\n", ["RTX 3090 Ti"] * 2),
        ("my new card, an RTX 5090, is on order\n", None),
        ("GPU: NVIDIA GB10\nNVIDIA GPU detected: NVIDIA GB10\n", ["GB10"]),
        ("my laptop has an NVIDIA MX450 inside\n", ["MX450"]),
        ("it has 4xA800 cards\n", ["A800"] * 4),
        ("using NVIDIA SM90 code, with NVIDIA CU128 wheels\n", None),
        ("on NVIDIA CUDA 12 with driver 570\n", None),
        ("Graphics card: 3070ti\n", ["RTX 3070 Ti"]),
        ("we train on 2x 3090, and it is slow\n", ["RTX 3090"] * 2),
        ("the card takes 4090 MiB, of a batch of 3080\n", None),
        ("port 3060 is open\n", None),
        ("I installed it on my jetson nano, and it finds nothing\n", ["Jetson Nano"]),
    ],
)
def test_what_is_said_to_be_there(text, names, facts_of):
    gpus = facts_of(text + CPU).get("gpus")
    assert (gpus and [gpu.name for gpu in gpus.devices]) == names


def test_beside_a_torch_whose_build_is_named(facts_of):
    facts = facts_of("torch 2.1.0+cu118 on an RTX 5090, driver 535.104.05\n")
    assert [gpu.name for gpu in facts["gpus"].devices] == ["RTX 5090"]
    assert (facts["gpus"].driver_version, facts["driver"].version) == ("535.104.05", "535.104.05")
    assert "gpus" not in facts_of(
        "my gpu is an RTX 3060, torch 2.1.0 hangs\nKernel: Linux\nmemlock\nCPU(s):     8\n"
    )


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("gpu0, GTX 1080\ngpu1, old TITAN X\n", ["GTX 1080", "TITAN X"]),
        ("GPU 0: RTX 3090 (x16)\nGPU 1: RTX 3090 (x4)\n", ["RTX 3090", "RTX 3090"]),
        ("gpu0, GTX 1080\n", None),
        ("gpu1, GTX 1080\ngpu2, GTX 1080\n", None),
        ("gpu0: GTX 1080 works\ngpu1: GTX 1080 does not\n", None),
    ],
)
def test_a_line_for_each(text, names, facts_of):
    gpus = facts_of(text + CPU).get("gpus")
    assert (gpus and [gpu.name for gpu in gpus.devices]) == names


def test_several_models_that_one_sentence_counts(facts_of):
    names = [
        gpu.name for gpu in facts_of("The GPUs of our server: 1x RTX 3080 and 2x RTX 3060\n")["gpus"].devices
    ]
    assert names == ["RTX 3080", "RTX 3060", "RTX 3060"]


@pytest.mark.parametrize(
    "text",
    [
        "I compared 2x RTX 3080 with 2x RTX 3060, GPUs of one machine each\n",
        "GPUs: 2x RTX 3080 or 2x RTX 3060\n",
        "Our GPUs: 2x RTX 3080 in this server\n",
    ],
)
def test_no_mixture(text, facts_of):
    told = facts_of(text + "RANK=0\nWORLD_SIZE=1\nLOCAL_RANK=0\n")
    assert "gpus" not in told or len({gpu.name for gpu in told["gpus"].devices}) < 2
