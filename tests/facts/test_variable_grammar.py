"""What becomes of a value: as judged here, and as NCCL and torch themselves take it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.facts import Misread, Setting, is_elsewhere, misread, number
from tests.warm_python import warm_python


def judged(name: str, value: str) -> Misread | None:
    return misread(Setting(name, value))


FITS = {
    "NCCL_IB_DISABLE": ["0", "1", " 1 ", "0x1", "", "false", "no"],
    "NCCL_BUFFSIZE": ["4194304", "0x400000"],
    "NCCL_DEBUG": ["WARN", "info", "Version", "TRACE", "", " "],
    "NCCL_DEBUG_SUBSYS": ["INIT,NET", "^INIT", "all", "init,graph,env", "INIT,"],
    "NCCL_P2P_LEVEL": ["NVL", "SYS", "PXB", "5", "PIX"],
    "NCCL_NET_GDR_LEVEL": ["PHB", "2", "LOC"],
    "NCCL_ALGO": [
        "Ring",
        "ring,tree",
        "^NVLS,NVLSTree",
        "ring;allreduce:tree,nvls",
        "allreduce,broadcast:^tree",
    ],
    "NCCL_PROTO": ["Simple", "^LL128", "LL,LL128;allreduce:simple"],
    "NCCL_SOCKET_FAMILY": ["AF_INET", "AF_INET6"],
    "NCCL_SOCKET_IFNAME": ["eth0", "=eth0,eth1", "eth0, eth1", "^docker,lo", "^=docker0", "eth,ib"],
    "NCCL_IB_HCA": ["mlx5", "=mlx5_0:1,mlx5_1:1", "^=mlx5_1,mlx5_4", "=mlx5_0::0:0,mlx5_1::0:1"],
    "NCCL_LAUNCH_MODE": ["GROUP", "PARALLEL"],
    "NCCL_IB_RETRY_CNT": ["7", "0"],
    "NCCL_NTHREADS": ["512", "64"],
    "TORCH_DISTRIBUTED_DEBUG": ["OFF", "info", "Detail"],
    "TORCH_NCCL_BLOCKING_WAIT": ["1", "0", "true", "No", "y"],
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": ["0", "1", "2", "3"],
    "TORCH_FR_BUFFER_SIZE": ["2000", "0"],
    "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": ["600", " 600 "],
    "TORCH_DISTRIBUTED_USE_TORCHCOMMS": ["1", "0"],
    "NCCL_RAS_ADDR": ["localhost:28028", "10.0.0.3:28028", "[fe80::1%eth0]:28028"],
    "NCCL_NET": ["IB", "AWS Libfabric", "gIB"],
    "NCCL_TOPO_FILE": ["/etc/topo.xml"],
    "NCCL_SET_THREAD_NAME": ["1", "true", "F", "0", ""],
    "NCCL_NETDEVS_POLICY": ["AUTO", "ALL", "MAX:2"],
    "NCCL_CTA_POLICY": ["2", "ZERO", "DEFAULT|EFFICIENCY"],
    "NCCL_CHECK_MODE": ["DEBUG_LOCAL", "DEFAULT"],
    "NCCL_NET_MERGE_LEVEL": ["LOC", "PORT", "PXB"],
    "NCCL_NET_MERGE_POLICY": ["ALL", "RAIL"],
    "NCCL_IB_ADDR_RANGE": ["10.0.0.0/16", "fd00::/64"],
    "NCCL_DEBUG_TIMESTAMP_LEVELS": ["WARN,INFO", "^trace", "ALL"],
    "NCCL_IB_TIMEOUT": ["22", "31"],
    "NCCL_IB_TC": ["106", "-1"],
    "NCCL_WORK_FIFO_BYTES": ["1048576"],
    "NCCL_SYM_CTAS": ["8"],
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in FITS.items() for v in values])
def test_a_value_that_fits(name: str, value: str) -> None:
    assert judged(name, value) is None


@pytest.mark.parametrize(
    ("name", "value", "write"),
    [
        ("NCCL_IB_DISABLE", "true", "1"),
        ("NCCL_P2P_DISABLE", '"1"', "1"),
        ("NCCL_BUFFSIZE", "4M", "4194304"),
        ("NCCL_BUFFSIZE", "8 KiB", "8192"),
        ("NCCL_MIN_NCHANNELS", "many", ""),
        ("NCCL_IB_RETRY_CNT", "8", ""),
        ("NCCL_NTHREADS", "500", "512"),
        ("NCCL_DEBUG", "DEBUG", "WARN"),
        ("NCCL_P2P_LEVEL", '"SYS"', "SYS"),
        ("NCCL_P2P_LEVEL", "sys", "SYS"),
        ("NCCL_SOCKET_FAMILY", "IPv6", "AF_INET6"),
        ("NCCL_SOCKET_IFNAME", "^docker,^lo", "^docker,lo"),
        ("NCCL_SOCKET_IFNAME", "=eth0,=eth1", "=eth0,eth1"),
        ("NCCL_SOCKET_IFNAME", "!docker0", "^docker0"),
        ("NCCL_IB_HCA", "mlx5_0, mlx5_1", "mlx5_0,mlx5_1"),
        ("NCCL_ALGO", "Ring,Star", "Ring,Tree"),
        ("TORCH_DISTRIBUTED_DEBUG", "", "OFF"),
        ("TORCH_DISTRIBUTED_DEBUG", "INFO ", "OFF"),
        ("TORCH_NCCL_ENABLE_MONITORING", "", "1"),
        ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "4", "3"),
        ("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", "10min", ""),
        ("TORCH_FR_BUFFER_SIZE", "2k", ""),
        ("TORCH_DISTRIBUTED_USE_TORCHCOMMS", "False", "0"),
        ("NCCL_RAS_ADDR", "localhost", "localhost:28028"),
        ("NCCL_RAS_ADDR", "fe80::1", "localhost:28028"),
        ("NCCL_SYM_CTAS", "eight", ""),
        ("NCCL_GIN_ENABLE", "on", "1"),
        ("NCCL_IB_MQP_RETRY_CNT", "three", ""),
        ("NCCL_SET_THREAD_NAME", "yes", "1"),
        ("NCCL_SET_THREAD_NAME", "2", "0"),
        ("NCCL_MAX_CTAS", "128", ""),
        ("NCCL_NVLS_ENABLE", "3", ""),
        ("NCCL_IB_SL", "16", ""),
        ("NCCL_BUFFSIZE", "99999999999999999999", ""),
        ("NCCL_WORK_FIFO_BYTES", "1000000", "524288"),
        ("NCCL_NETDEVS_POLICY", "MAX:0", "AUTO"),
        ("NCCL_CTA_POLICY", "ZERO|FAST", "DEFAULT"),
        ("NCCL_CHECK_MODE", "LOCAL", "DEFAULT"),
        ("NCCL_NET_MERGE_LEVEL", "loc", "PORT"),
        ("NCCL_NET_MERGE_POLICY", "RAILS", "ALL"),
        ("NCCL_IB_ADDR_FAMILY", "IPv4", "AF_INET"),
        ("NCCL_IB_ADDR_RANGE", "10.0.0.1", ""),
        ("NCCL_DEBUG_TIMESTAMP_LEVELS", "WARM,INFO", "WARN"),
        ("TORCH_FR_DUMP_ON_TIMEOUT", "on", "1"),
    ],
)
def test_a_value_that_does_not(name: str, value: str, write: str) -> None:
    wrong = judged(name, value)
    assert wrong is not None
    assert wrong.write == write
    assert not write or judged(name, write) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("true", 0),
        ("", None),
        ("4M", 4),
        ("0x10", 16),
        ("010", 8),
        ("-3", -3),
        ("09", 0),
        (" +7", 7),
    ],
)
def test_a_number_as_strtoll_has_it(text: str, value: int | None) -> None:
    assert number(text) == value


NCCL = """
import ctypes, sys
ctypes.CDLL(sys.argv[1]).ncclGetUniqueId(ctypes.create_string_buffer(128))
"""


@pytest.mark.parametrize("value", ["1", "7M", "true", '"1"', "0x10", "010", "-1", "09", " 3 "])
def test_nccl_takes_a_number_so(value: str, torch_folder: Path) -> None:
    """NCCL says what it took, without a GPU too: NCCL_NVTX_DISABLE is read when it starts."""
    library = torch_folder.parent / "nvidia/nccl/lib/libnccl.so.2"
    if not library.exists():
        pytest.skip("no NCCL here")
    kept = {name: text for name, text in os.environ.items() if not name.startswith("NCCL_")}
    environment = {**kept, "NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,ENV", "NCCL_NVTX_DISABLE": value}
    command = [sys.executable, "-c", NCCL, str(library)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    said = re.search(r"NCCL_NVTX_DISABLE set by environment to (-?\d+)\.", done.stdout)
    assert said is not None, done.stdout
    assert int(said[1]) == number(value)


TORCH = """
import json, torch
torch.distributed.set_debug_level_from_env()  # as the import does, which lies behind a warm Python
print(json.dumps("imported"))
"""


@pytest.mark.parametrize("value", ["OFF", "detail", "VERBOSE", "", "INFO ", "1"])
def test_torch_takes_its_debug_level_so(value: str, torch_folder: Path) -> None:
    environment = {**os.environ, "TORCH_DISTRIBUTED_DEBUG": value}
    command = [sys.executable if value == "VERBOSE" else warm_python(), "-c", TORCH]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    refused = json.dumps("imported") not in done.stdout
    assert refused == (judged("TORCH_DISTRIBUTED_DEBUG", value) is not None), done.stderr


@pytest.mark.parametrize(
    "name", ["NCCL_VERSION", "NCCL_FASTRAK_NSOCKS", "NCCL_TESTS_DEVICE", "NCCL_CTRAN_ENABLE"]
)
def test_what_others_read(name: str) -> None:
    assert is_elsewhere(name)
    assert not is_elsewhere("NCCL_SOCKET_IFACE")
