"""nvidia-smi's table, queries, matrices and refusals, as tickets have them."""

import html
from itertools import pairwise

import pytest

from gpudoctor.facts import GpuPair, GpuProcess, NvLink, RemappedRows
from gpudoctor.importers import Unreadable

HEAD = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
"""
FIRST = """\
|   0  NVIDIA A100-SXM4-80GB          On  |   00000000:07:00.0 Off |                    0 |
| N/A   34C    P0              62W / 400W |       4MiB /  81920MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
"""
SECOND = """\
|   1  NVIDIA A100-SXM4-80GB          On  |   00000000:0A:00.0 Off |                   17 |
| N/A   41C    P0              74W / 400W |   79870MiB /  81920MiB |     93%   E. Process |
|                                         |                        |             Enabled* |
+-----------------------------------------+------------------------+----------------------+
"""
BROKEN = """\
|   1  ERR!                           On  |   00000000:0A:00.0 Off |                 ERR! |
|ERR!  ERR! ERR!             ERR! /  ERR! |       4MiB /  81920MiB |    ERR!         ERR! |
|                                         |                        |                 ERR! |
+-----------------------------------------+------------------------+----------------------+
"""
PROCESSES = """\
+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0   N/A  N/A      1420      G   /usr/lib/xorg/Xorg                             310MiB |
|    1   N/A  N/A     99120      C   /home/erika/envs/secret/bin/python            79860MiB |
|    1   N/A  N/A     99121    C+G   [Not Found]                                       N/A |
+-----------------------------------------------------------------------------------------+
"""


def test_the_table(facts_of):
    gpus = facts_of(HEAD + FIRST + SECOND + PROCESSES)["gpus"]
    assert (gpus.driver_version, gpus.cuda_version, gpus.error) == ("550.54.15", "12.4", None)
    first, second = gpus.devices
    assert (first.index, first.name, first.pci_address) == (0, "NVIDIA A100-SXM4-80GB", "0000:07:00.0")
    assert (first.persistence, first.ecc, first.ecc_uncorrected, first.errors) == (True, True, 0, [])
    assert (first.temperature_celsius, first.power_watts, first.power_limit_watts) == (34, 62.0, 400.0)
    assert (first.memory_used_bytes, first.memory_bytes) == (4 << 20, 81920 << 20)
    assert (first.utilization_percent, first.compute_mode, first.mig) == (0, "default", False)
    assert (second.ecc_uncorrected, second.compute_mode) == (17, "exclusive_process")
    assert (second.mig, second.mig_pending) == (True, False)
    assert first.processes == []  # what only draws is no training
    assert second.processes == [
        GpuProcess(pid=99120, memory_bytes=79860 << 20, name="python"),
        GpuProcess(pid=99121),
    ]


def test_a_table_without_its_processes_does_not_say_that_there_are_none(facts_of):
    assert facts_of(HEAD + FIRST)["gpus"].devices[0].processes is None


def test_a_gpu_of_which_nothing_can_be_read(facts_of):
    first, second = facts_of(HEAD + FIRST + BROKEN)["gpus"].devices
    assert (first.errors, first.name) == ([], "NVIDIA A100-SXM4-80GB")
    assert (second.name, second.ecc_uncorrected, second.temperature_celsius) == ("", None, None)
    assert second.errors == ["ECC: Unknown Error", "temperature and utilization: Unknown Error"]
    assert (first.gone, second.gone) == (False, True)


def test_a_laptop_that_cannot_tell_its_power_has_no_errors(facts_of):
    row = (
        FIRST.replace("62W / 400W", "ERR! /  N/A")
        .replace("  0 |", "N/A |")
        .replace("80GB          On", "80GB         Off")
    )
    gpu = facts_of(HEAD + row)["gpus"].devices[0]
    assert (gpu.errors, gpu.power_watts, gpu.temperature_celsius, gpu.ecc_uncorrected) == ([], None, 34, None)


INSTANCES = """\
+-----------------------------------------------------------------------------------------+
| MIG devices:                                                                            |
+------------------+----------------------------------+-----------+-----------------------+
| GPU  GI  CI  MIG |                     Memory-Usage |        Vol|      Shared           |
|      ID  ID  Dev |                       BAR1-Usage | SM     Unc| CE ENC DEC OFA JPG    |
|==================+==================================+===========+=======================|
|  0    7   0   0  |              12MiB /  9728MiB    | 14      0 |  1   0    0    0    0 |
|                  |               0MiB / 16383MiB    |           |                       |
+------------------+----------------------------------+-----------+-----------------------+
"""


def test_instances_are_no_gpus(facts_of):
    row = FIRST.replace("                    0 |", "                   On |").replace("Disabled", " Enabled")
    (gpu,) = facts_of(HEAD + row + INSTANCES + PROCESSES)["gpus"].devices
    assert (gpu.mig, gpu.memory_bytes, gpu.ecc, gpu.ecc_uncorrected) == (True, 81920 << 20, True, None)
    assert gpu.mig_uuids == [""]  # there is one, and the table does not tell its name
    (cut,) = facts_of(HEAD + row)["gpus"].devices
    assert cut.mig_uuids == [""]
    none = INSTANCES.splitlines(keepends=True)[:3]
    (gpu,) = facts_of(HEAD + row + "".join(none) + "|  No MIG devices found   |\n" + PROCESSES)[
        "gpus"
    ].devices
    assert gpu.mig_uuids == []


QUERY = """\
==============NVSMI LOG==============

Driver Version                            : 550.54.15
CUDA Version                              : 12.4

Attached GPUs                             : {count}
GPU 00000000:18:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Persistence Mode                      : Enabled
    MIG Mode
        Current                           : Disabled
        Pending                           : Disabled
    GPU UUID                              : GPU-11111111-aaaa-bbbb-cccc-000000000001
    Minor Number                          : 5
    VBIOS Version                         : 96.00.89.00.01
    GPU Part Number                       : 2330-885-A1
    GSP Firmware Version                  : 550.54.15
    GPU Reset Status
        Reset Required                    : {reset}
        Drain and Reset Recommended       : No
    GPU Recovery Action                   : {action}
    PCI
        Bus Id                            : 00000000:18:00.0
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 4
            Link Width
                Max                       : 16x
                Current                   : 8x
        Replays Since Reset               : 7
    Fan Speed                             : [Unknown Error]
    Clocks Event Reasons
        Idle                              : Not Active
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Active
            HW Power Brake Slowdown       : Not Active
        SW Thermal Slowdown               : Not Active
    FB Memory Usage
        Total                             : 81559 MiB
        Reserved                          : 332 MiB
        Used                              : 4 MiB
    BAR1 Memory Usage
        Total                             : 131072 MiB
        Used                              : 2 MiB
    Compute Mode                          : Exclusive_Process
    Utilization
        Gpu                               : 3 %
    ECC Mode
        Current                           : Enabled
        Pending                           : Disabled
    ECC Errors
        Volatile
            SRAM Correctable              : 1
            SRAM Uncorrectable Parity     : 1
            SRAM Uncorrectable SEC-DED    : 2
            DRAM Correctable              : 3
            DRAM Uncorrectable            : 4
        Aggregate
            SRAM Correctable              : 0
            SRAM Uncorrectable Parity     : 5
            SRAM Uncorrectable SEC-DED    : 6
            DRAM Correctable              : 5
            DRAM Uncorrectable            : 7
            SRAM Threshold Exceeded       : Yes
    Retired Pages
        Single Bit ECC                    : N/A
        Double Bit ECC                    : N/A
        Pending Page Blacklist            : N/A
    Remapped Rows
        Correctable Error                 : 1
        Uncorrectable Error               : 2
        Pending                           : Yes
        Remapping Failure Occurred        : No
        Bank Remap Availability Histogram
            Max                           : 2559 bank(s)
            Low                           : 1 bank(s)
            None                          : 0 bank(s)
    Temperature
        GPU Current Temp                  : 33 C
        GPU T.Limit Temp                  : 52 C
        GPU Slowdown T.Limit Temp         : -2 C
        Memory Current Temp               : 41 C
    GPU Power Readings
        Power Draw                        : 118.20 W
        Current Power Limit               : 650.00 W
        Default Power Limit               : 700.00 W
        Max Power Limit                   : 700.00 W
    Module Power Readings
        Power Draw                        : 900.00 W
    Clocks
        Graphics                          : 300 MHz
        SM                                : 345 MHz
    Applications Clocks
        Graphics                          : 1200 MHz
    Default Applications Clocks
        Graphics                          : 1980 MHz
    Max Clocks
        Graphics                          : 1980 MHz
        SM                                : 1981 MHz
    Fabric
        State                             : In Progress
        Status                            : N/A
        Health
            Bandwidth                     : Degraded
    Processes
        GPU instance ID                   : N/A
        Compute instance ID               : N/A
        Process ID                        : 4711
            Type                          : C
            Name                          : /home/erika/bin/python train.py
            Used GPU Memory               : 1200 MiB
        Process ID                        : 4712
            Type                          : G
            Name                          : Xorg
            Used GPU Memory               : 4 MiB
"""


def query(count=1, reset="No", action="None"):
    return QUERY.format(count=count, reset=reset, action=action)


@pytest.mark.parametrize("carry", [str, lambda t: "\n".join("> " + line.lstrip() for line in t.split("\n"))])
def test_a_query(carry, facts_of):
    gpus = facts_of(carry(query()))["gpus"]
    assert (gpus.driver_version, gpus.cuda_version) == ("550.54.15", "12.4")
    (gpu,) = gpus.devices
    assert (gpu.index, gpu.pci_address, gpu.name) == (0, "0000:18:00.0", "NVIDIA H100 80GB HBM3")
    assert (gpu.uuid, gpu.vbios) == ("GPU-11111111-aaaa-bbbb-cccc-000000000001", "96.00.89.00.01")
    assert (gpu.board_part, gpu.gsp_firmware, gpu.persistence) == ("2330-885-A1", True, True)
    assert (gpu.mig, gpu.mig_pending, gpu.compute_mode) == (False, False, "exclusive_process")
    assert (gpu.pcie_generation, gpu.pcie_generation_max) == (4, 5)
    assert (gpu.pcie_width, gpu.pcie_width_max, gpu.pcie_replays) == (8, 16, 7)
    assert gpu.throttle_reasons == ["hw_slowdown", "hw_thermal_slowdown"]
    assert (gpu.memory_bytes, gpu.memory_reserved_bytes) == (81559 << 20, 332 << 20)
    assert (gpu.memory_used_bytes, gpu.utilization_percent) == (4 << 20, 3)
    assert (gpu.ecc, gpu.ecc_pending) == (True, False)
    assert (gpu.ecc_corrected, gpu.ecc_uncorrected, gpu.ecc_uncorrected_aggregate) == (4, 7, 18)
    assert (gpu.sram_uncorrected_aggregate, gpu.sram_threshold_exceeded) == (11, True)
    assert (gpu.retired_pages, gpu.retired_pages_pending) == (None, None)
    assert gpu.remapped_rows == RemappedRows(
        correctable=1, uncorrectable=2, pending=True, failed=False, banks_low=1, banks_none=0
    )
    assert (gpu.temperature_celsius, gpu.temperature_margin_celsius) == (33, 52)
    assert gpu.memory_temperature_celsius == 41
    assert (gpu.power_watts, gpu.power_limit_watts, gpu.power_limit_default_watts) == (118.2, 650.0, 700.0)
    assert (gpu.sm_clock_mhz, gpu.sm_clock_max_mhz) == (345, 1981)
    assert (gpu.sm_clock_application_mhz, gpu.sm_clock_application_default_mhz) == (1200, 1980)
    assert (gpu.fabric_state, gpu.fabric_status) == ("in_progress", None)
    assert gpu.fabric_health == ["degraded_bandwidth"]
    assert gpu.processes == [GpuProcess(pid=4711, memory_bytes=1200 << 20, name="python")]
    assert (gpu.errors, gpu.recovery_action) == ([], "none")


def test_a_query_of_a_gpu_that_requires_a_reset(facts_of):
    (gpu,) = facts_of(query(reset="Yes", action="Reset"))["gpus"].devices
    assert (gpu.errors, gpu.recovery_action) == (["reset status: GPU requires reset"], "gpu_reset")
    assert (gpu.reset_required, gpu.lost) == (True, False)


def test_a_query_of_a_lost_gpu(facts_of):
    text = query().replace("33 C", "GPU is lost").replace(": Enabled\n    MIG", ": [GPU is lost]\n    MIG")
    (gpu,) = facts_of(text)["gpus"].devices
    assert gpu.errors == ["persistence mode: GPU is lost", "gpu current temp: GPU is lost"]
    assert (gpu.reset_required, gpu.lost) == (False, True)


def test_a_query_of_one_of_eight_is_numbered_by_its_node(facts_of):
    assert facts_of(query(count=8))["gpus"].devices[0].index == 5


def test_the_old_counters_of_double_bit_errors(facts_of):
    begin, end = QUERY.index("        Volatile"), QUERY.index("    Retired Pages")
    old = """        Volatile
            Single Bit
                Device Memory             : 0
                Total                     : 0
            Double Bit
                Device Memory             : 3
                Total                     : 3
        Aggregate
            Double Bit
                Total                     : 9
"""
    (gpu,) = facts_of(QUERY[:begin].format(count=1, reset="No", action="N/A") + old + QUERY[end:])[
        "gpus"
    ].devices
    assert (gpu.ecc_uncorrected, gpu.recovery_action) == (3, None)


XML = """\
<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
    <driver_version>535.183.06</driver_version>
    <cuda_version>12.2</cuda_version>
    <attached_gpus>1</attached_gpus>
    <gpu id="00000000:3B:00.0">
        <product_name>NVIDIA A100-PCIE-40GB</product_name>
        <persistence_mode>Disabled</persistence_mode>
        <mig_mode><current_mig>Disabled</current_mig><pending_mig>Disabled</pending_mig></mig_mode>
        <uuid>GPU-2</uuid>
        <pci><pci_gpu_link_info>
            <pcie_gen><max_link_gen>4</max_link_gen><current_link_gen>1</current_link_gen></pcie_gen>
            <link_widths><max_link_width>16x</max_link_width><current_link_width>4x</current_link_width></link_widths>
        </pci_gpu_link_info></pci>
        <clocks_event_reasons>
            <clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle>
            <clocks_event_reason_hw_slowdown>Not Active</clocks_event_reason_hw_slowdown>
        </clocks_event_reasons>
        <fb_memory_usage><total>40960 MiB</total><used>900 MiB</used></fb_memory_usage>
        <ecc_errors>
            <volatile><sram_uncorrectable>0</sram_uncorrectable><dram_uncorrectable>2</dram_uncorrectable></volatile>
            <aggregate><dram_uncorrectable>5</dram_uncorrectable></aggregate>
        </ecc_errors>
        <retired_pages>
            <multiple_single_bit_retirement><retired_count>1</retired_count></multiple_single_bit_retirement>
            <double_bit_retirement><retired_count>2</retired_count></double_bit_retirement>
            <pending_blacklist>Yes</pending_blacklist>
        </retired_pages>
        <remapped_rows>
            <remapped_row_corr>0</remapped_row_corr><remapped_row_unc>2</remapped_row_unc>
            <remapped_row_pending>Yes</remapped_row_pending><remapped_row_failure>No</remapped_row_failure>
        </remapped_rows>
        <temperature>
            <gpu_temp>36 C</gpu_temp><gpu_temp_slow_threshold>89 C</gpu_temp_slow_threshold>
        </temperature>
        <gpu_power_readings>
            <power_draw>38.10 W</power_draw><current_power_limit>250.00 W</current_power_limit>
        </gpu_power_readings>
        <clocks><sm_clock>210 MHz</sm_clock></clocks>
        <max_clocks><sm_clock>1410 MHz</sm_clock></max_clocks>
        <processes>
            <process_info>
                <pid>77</pid><type>C</type>
                <process_name>/usr/bin/python3</process_name><used_memory>1200 MiB</used_memory>
            </process_info>
        </processes>
    </gpu>
</nvidia_smi_log>
"""


@pytest.mark.parametrize("carry", [str, html.escape, lambda t: f"Here:\n```xml\n{t}\n```\nand so on"])
def test_xml(carry, facts_of):
    gpus = facts_of(carry(XML))["gpus"]
    assert (gpus.driver_version, gpus.cuda_version) == ("535.183.06", "12.2")
    (gpu,) = gpus.devices
    assert (gpu.index, gpu.name, gpu.pci_address) == (0, "NVIDIA A100-PCIE-40GB", "0000:3b:00.0")
    assert (gpu.persistence, gpu.mig, gpu.uuid) == (False, False, "GPU-2")
    assert (gpu.pcie_generation, gpu.pcie_width, gpu.pcie_width_max) == (1, 4, 16)
    assert (gpu.throttle_reasons, gpu.memory_used_bytes) == (["gpu_idle"], 900 << 20)
    assert (gpu.ecc_uncorrected, gpu.ecc_uncorrected_aggregate) == (2, 5)
    assert (gpu.retired_pages, gpu.retired_pages_pending) == (3, True)
    assert gpu.remapped_rows == RemappedRows(uncorrectable=2, pending=True)
    assert (gpu.temperature_slowdown_celsius, gpu.temperature_margin_celsius) == (89, 53)
    assert (gpu.power_watts, gpu.sm_clock_mhz, gpu.sm_clock_max_mhz) == (38.1, 210, 1410)
    assert gpu.processes == [GpuProcess(pid=77, memory_bytes=1200 << 20, name="python3")]


def test_xml_that_was_cut_off_tells_what_stands_before_the_cut(facts_of):
    (gpu,) = facts_of(XML[: XML.index("<retired_pages>")])["gpus"].devices
    assert (gpu.name, gpu.ecc_uncorrected, gpu.remapped_rows) == ("NVIDIA A100-PCIE-40GB", 2, None)


def test_no_entity_is_expanded(facts_of):
    letters = "abcdefghij"
    entities = [f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in pairwise(letters)]
    bomb = f'<!DOCTYPE nvidia_smi_log [<!ENTITY a "{"x" * 1000}">{"".join(entities)}]>'
    body = XML[XML.index("<nvidia_smi_log>") :].replace("NVIDIA A100-PCIE-40GB", "&j;")
    for text in (bomb + body, body):
        (gpu,) = facts_of(text)["gpus"].devices
        assert (gpu.pci_address, gpu.name) == ("0000:3b:00.0", "")  # all that stands before it
    inside = facts_of(HEAD + FIRST + body.replace("<gpu ", f"{bomb}<gpu "))["gpus"]
    assert [gpu.name for gpu in inside.devices] == ["NVIDIA A100-SXM4-80GB"]


TOPOLOGY = """\
        GPU0    GPU1    GPU2    NIC0    CPU Affinity    NUMA Affinity   GPU NUMA ID
GPU0     X      NV12    SYS     PXB     0-63            0               N/A
GPU1    NV12     X      SYS     PXB     0-63            0               N/A
GPU2    SYS     SYS      X      SYS     64-127          1               N/A
NIC0    PXB     PXB     SYS      X
"""
PEERS = """\
        GPU0    GPU1    GPU2
 GPU0   X       OK      CNS
 GPU1   OK      X       CNS
 GPU2   CNS     CNS     X
"""


def test_the_topology(facts_of):
    gpus = facts_of(HEAD + FIRST + TOPOLOGY.replace("        ", "\t") + PEERS)["gpus"]
    assert gpus.pairs == [
        GpuPair(first=0, second=1, path="NV12", p2p="OK"),
        GpuPair(first=0, second=2, path="SYS", p2p="CNS"),
        GpuPair(first=1, second=2, path="SYS", p2p="CNS"),
    ]


def test_a_row_of_the_topology_that_was_cut_is_left_out(facts_of):
    text = TOPOLOGY.replace(
        "GPU1    NV12     X      SYS     PXB     0-63            0               N/A", "GPU1    NV12"
    )
    assert [(p.first, p.second) for p in facts_of(HEAD + FIRST + text)["gpus"].pairs] == [(0, 1), (0, 2)]


LINKS = """\
GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-1)
\t Link 0: 25 GB/s
\t Link 1: <inactive>
GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-2)
\t Link 0: 25 GB/s
\t Link 1: 25 GB/s
GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-1)
\t Link 0: Replay Errors: 3
\t Link 0: Recovery Errors: 0
\t Link 0: CRC Errors: 12
"""


def test_links_of_a_list_that_was_cut_are_not_known(facts_of):
    first, second = facts_of(LINKS.replace("\t Link 1: 25 GB/s\n", "..."))["gpus"].devices
    assert (first.nvlinks_active, second.nvlinks_active) == (1, None)


@pytest.mark.parametrize("carry", [str, html.escape])
def test_nvlinks(carry, facts_of):
    first, second = facts_of(carry(LINKS))["gpus"].devices
    assert first.nvlinks == [
        NvLink(link=0, active=True, replay_errors=3, recovery_errors=0, crc_errors=12),
        NvLink(link=1, active=False),
    ]
    assert (first.nvlinks_active, second.nvlinks_active, second.uuid) == (1, 2, "GPU-2")


@pytest.mark.parametrize(
    "rest, index, address, error",
    [
        ("GPU 0000:0B:00.0: Unknown Error", 0, "0000:0b:00.0", "Unknown Error"),
        ("GPU0000:65:00.0: Unknown Error", 0, "0000:65:00.0", "Unknown Error"),
        ("GPU3: 0000:5F:00.0: Not Found", 3, "0000:5f:00.0", "Not Found"),
        ("GPU2: Unknown Error", 2, "", "Unknown Error"),
        ("gpu 0000:81:00.0: GPU is lost.  Reboot the system to recover it", 0, "0000:81:00.0", "GPU is lost"),
    ],
)
def test_a_gpu_without_a_handle(rest, index, address, error, facts_of):
    (gpu,) = facts_of(f"Unable to determine the device handle for {rest}")["gpus"].devices
    assert (gpu.index, gpu.pci_address, gpu.errors) == (index, address, [f"handle: {error}"])
    assert gpu.gone is (error != "Not Found")


def test_a_lost_gpu_comes_after_those_that_are_listed(facts_of):
    listed = "GPU 0: NVIDIA A40 (UUID: GPU-1)\nGPU 1: NVIDIA A40 (UUID: GPU-2)\n"
    lost = "Unable to determine the device handle for gpu 0000:81:00.0: GPU is lost.  Reboot the system\n"
    devices = facts_of(listed + lost)["gpus"].devices
    assert [(gpu.index, gpu.name, bool(gpu.errors)) for gpu in devices] == [
        (0, "NVIDIA A40", False), (1, "NVIDIA A40", False), (2, "", True),
    ]  # fmt: skip


def test_a_list_with_its_instances(facts_of):
    text = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n  MIG 3g.40gb     Device  0: (UUID: MIG-1)\n"
    (gpu,) = facts_of(text)["gpus"].devices
    assert (gpu.uuid, gpu.mig, gpu.mig_uuids) == ("GPU-1", True, ["MIG-1"])


def test_the_more_specific_output_wins_and_another_machine_stays_out(facts_of):
    other = HEAD + FIRST.replace("NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3").replace(
        "07:00.0", "99:00.0"
    )
    listed = "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-1)\n"
    (gpu,) = facts_of(f"{listed}\n{HEAD}{FIRST}\n{other}")["gpus"].devices
    assert (gpu.pci_address, gpu.name) == ("0000:07:00.0", "NVIDIA A100-SXM4-80GB")


@pytest.mark.parametrize(
    "said", ['`"No devices were found"`', "nvidia-smi says 'No devices were found' since then"]
)
def test_no_devices_in_a_sentence(said, facts_of):
    gpus = facts_of(f"After a reboot:\n{said}\n")["gpus"]
    assert (gpus.devices, gpus.error) == ([], None)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('level=error error="command failed" stdout="Failed to initialize NVML: Unknown Error"', 999),
        ("collector: Failed to initialize NVML: Driver/library version mismatch", 18),
        ("I do not get Failed to initialize NVML: Unknown Error any more since then", None),
    ],
)
def test_a_refusal_that_a_program_quotes(line, code, read_text):
    if code is None:
        with pytest.raises(Unreadable):
            read_text(line)
    else:
        assert read_text(line).snapshot.facts["gpus"].error_code == code


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("Failed to initialize NVML: Unknown Error after some hours in a container", 999),
        ("Failed to initialize NVML: Driver/library version mismatch", 18),
        ("Failed to initialize NVML: Something else", None),
    ],
)
def test_a_refusal_that_goes_on(line, code, facts_of):
    gpus = facts_of(line)["gpus"]
    assert gpus.error_code == code
    assert gpus.error == (
        "Something else" if code is None else line.partition(": ")[2].partition(" after")[0]
    )


def test_another_program_says_more_than_nvidia_smi(facts_of):
    text = "Failed to initialize NVML: Function Not Found\n"
    text += "nvidia-docker | 05:04:46 Error: nvml: Driver/library version mismatch\n"
    assert facts_of(text)["gpus"].error_code == 18


def test_excerpts(facts_of):
    [gpu] = facts_of(
        "    Remapped Rows\n        Correctable Error                 : 0\n"
        "        Uncorrectable Error               : 4\n        Pending                           : Yes\n"
    )["gpus"].read
    assert gpu.remapped_rows.pending
    [gpu] = facts_of(
        '<gpu id="00000000:82:00.0">\n<product_name>GeForce GTX 1080 Ti</product_name>\n<uuid>GPU-b8c7</uuid>\n'
    )["gpus"].devices
    assert (gpu.name, gpu.pci_address) == ("GeForce GTX 1080 Ti", "0000:82:00.0")


def test_a_refusal_that_another_program_quotes(facts_of):
    words = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver"
    quoted = (
        f'nvidia.py:168 - return with error (code 9): b"{words}. Make sure that"\nDriver Version: 410.73\n'
    )
    assert facts_of(quoted)["gpus"].error_code == 9
    prose = f"I once had {words}, and not any more.\nDriver Version: 410.73\n"
    assert "gpus" not in facts_of(prose)


def test_a_section_that_was_cut_out(facts_of):
    text = """\
    Clocks Event Reasons
        Idle                              : Not Active
        SW Power Cap                      : Active
        HW Slowdown                       : Active
            HW Power Brake Slowdown       : Active
"""
    [gpu] = facts_of(text)["gpus"].devices
    assert gpu.throttle_reasons == ["sw_power_cap", "hw_slowdown", "hw_power_brake_slowdown"]
    [gpu] = facts_of("    GPU Reset Status\n        Reset Required                    : Yes\n")[
        "gpus"
    ].devices
    assert gpu.reset_required
    whole = QUERY.format(count=1, reset="No", action="None")
    assert [gpu.pci_address for gpu in facts_of(text + whole)["gpus"].devices] == ["0000:18:00.0"]


def test_rows_of_a_power_limit_that_were_cut_out(facts_of):
    rows = "NVIDIA\n\tCurrent Power Limit   : 60.00 W\n\tDefault Power Limit   : 75.00 W\n"
    [gpu] = facts_of(rows)["gpus"].read
    assert (gpu.power_limit_watts, gpu.power_limit_default_watts) == (60.0, 75.0)
