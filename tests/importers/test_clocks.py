"""What tools of time services say, in pasted texts."""

import pytest

from gpudoctor.facts import Clock

NO = "System clock synchronized: no"
SLOW = "System time     : 12.500000000 seconds slow of NTP time"


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        (
            "System clock synchronized: no\nNTP service: inactive\n",
            Clock(synchronized=False, said="System clock synchronized: no"),
        ),
        ("       NTP synchronized: yes\n", Clock(synchronized=True, said="NTP synchronized: yes")),
        (
            "System time     : 12.500000000 seconds slow of NTP time\nLeap status     : Normal\n",
            Clock(
                synchronized=True,
                offset_seconds=-12.5,
                said="System time     : 12.500000000 seconds slow of NTP time",
            ),
        ),
        (
            "Leap status     : Not synchronised\n",
            Clock(synchronized=False, said="Leap status     : Not synchronised"),
        ),
        (
            "synchronised to NTP server (10.0.0.1) at stratum 3\n",
            Clock(synchronized=True, said="synchronised to NTP server (10.0.0.1) at stratum 3"),
        ),
    ],
)
def test_clocks(text, clock, facts_of):
    assert facts_of(text)["clock"] == clock


def test_the_compiler_of_a_text(facts_of):
    torch = "PyTorch version: 2.4.1+cu121\nIs debug build: False\nCUDA used to build PyTorch: 12.1\n"
    text = "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 11.8, V11.8.89\n"
    assert facts_of(f"{torch}{text}")["toolkit"].version == "11.8.89"
    assert "toolkit" not in facts_of(f"{torch}{text}{text.replace('11.8', '12.4')}")


def test_a_jetson(facts_of):
    text = "| NVIDIA-SMI 540.3.0  Driver Version: N/A |\n|   0  Orin (nvgpu)    N/A  | N/A    N/A | N/A |\n"
    [gpu] = facts_of(text)["gpus"].devices
    assert (gpu.index, gpu.name) == (0, "Orin")


def test_a_pod_of_which_nothing_is_wrong(facts_of):
    pod = facts_of("Containers:\n  trainer:\n    State:          Running\n    Restart Count:  0\n")[
        "kubernetes"
    ]
    assert (pod.nodes, pod.oom_killed, pod.sigkilled) == ([], [], {})


def test_windows_of_the_desktop_hold_no_memory(facts_of):
    text = (
        "|   0  NVIDIA GeForce RTX 4080     WDDM  |   00000000:01:00.0  On |                  N/A |\n"
        "|  0%   42C    P8             23W /  320W |    1633MiB /  16376MiB |      2%      Default |\n"
        "| Processes: |\n| GPU GI CI PID Type Process name GPU Memory |\n"
        "|    0   N/A  N/A            7012    C+G   C:\\\\Windows\\\\explorer.exe                      N/A      |\n"
    )
    [gpu] = facts_of(text)["gpus"].devices
    assert gpu.processes == []
