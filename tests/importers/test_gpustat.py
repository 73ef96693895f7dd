"""What gpustat shows."""

from gpudoctor.facts import Gpu, GpuProcess

TEXT = """\
node1                    Mon Aug 22 15:23:57 2022  515.65.01
[0] Tesla P100-PCIE-16GB | 27'C,   0 % |   103 / 16384 MB |
[1] Tesla P100-PCIE-16GB | 77'C,  96 % | 11848 / 16384 MB | u:python3/52046(11821M) gdm(20M)
[2] GeForce GT 650M  | 47'C,  ?? % |     0 /  1999 MB | (Not Supported)
[3] A100-SXM4-80GB   | 61'C,  35 %, 100 % |  50 / 250 W |  9000 / 81920 MB |
"""


def test_rows(facts_of):
    facts = facts_of(TEXT)
    assert facts["driver"].version == "515.65.01"
    idle, busy, old, fan = facts["gpus"].devices
    assert idle == Gpu(
        index=0,
        name="Tesla P100-PCIE-16GB",
        temperature_celsius=27,
        utilization_percent=0,
        memory_used_bytes=103 << 20,
        memory_bytes=16384 << 20,
        processes=[],
    )
    assert busy.processes == [GpuProcess(pid=52046, name="python3", memory_bytes=11821 << 20)]
    assert (old.utilization_percent, old.processes) == (None, None)
    assert (fan.utilization_percent, fan.memory_used_bytes) == (None, 9000 << 20)


def test_a_row_in_prose(facts_of):
    text = "as shown here:\n`[6] NVIDIA A100 80GB PCIe | 52'C, 100 % | 10151 / 81920 MB | (null)`\n"
    [gpu] = facts_of(text)["gpus"].devices
    assert (gpu.index, gpu.processes) == (6, [])
