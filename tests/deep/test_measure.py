"""What check --deep measures, and what becomes of measurements that hang, fail or are interrupted."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import psutil
import pytest

import gpudoctor
from gpudoctor.deep import bench as bench_module
from gpudoctor.deep import collectives, devices, measure, series
from gpudoctor.deep.bench import Bench
from gpudoctor.deep.collectives import interfaces_to_measure, measure_gloo, measure_group, measure_nccl
from gpudoctor.deep.connection import connect
from gpudoctor.deep.copies import measure_copies
from gpudoctor.deep.devices import measure_gpus, measure_processor
from gpudoctor.deep.disk import different, file_system
from gpudoctor.deep.disk import measure as measure_disk
from gpudoctor.facts import Collective, Interface, Interfaces, Launch, Measurements, Torch
from gpudoctor.interpreter import Patient
from gpudoctor.snapshot import Snapshot
from tests.warm_python import warm_python

GLOO = Torch(imported=True, cuda_available=False, gloo_available=True, version="2.15.0+cpu")
LOOPBACK = Interfaces(all=[Interface(name="lo", up=True, addresses=["127.0.0.1"], loopback=True)])
needs_torch = pytest.mark.usefixtures("torch_folder")


@pytest.fixture(scope="module")
def here() -> Patient:
    """A patient that has torch imported already: what is measured comes after that."""
    return Patient(warm_python(), "the tests' own")


@pytest.fixture
def bench(here: Patient, tmp_path: Path) -> Bench:
    return Bench(here, str(tmp_path), time.monotonic() + 100, None, lambda doing: None)


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Put another script in the place of one that measures."""
    folder = tmp_path / "scripts"
    folder.mkdir()
    monkeypatch.setattr(bench_module, "SCRIPTS", folder)

    def put(name: str, body: str) -> None:
        start = (
            "import json, os, sys, time\n"
            "request = json.loads(sys.argv[2])\n"
            "def tell(m): os.write(1, b'\\ngpudoctor ' + json.dumps(m).encode() + b'\\n')\n"
        )
        (folder / name).write_text(start + body)

    return put


class TestEverything:
    @needs_torch
    def test_a_machine_without_gpus(self, here: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(series, "WITHOUT_GPUS", 100.0)  # other tests may keep the processors busy
        monkeypatch.setattr(devices, "CPU_SECONDS", 60.0)
        monkeypatch.setattr(collectives, "GLOO_SECONDS", 60.0)
        said: list[str] = []
        facts: dict[str, msgspec.Struct] = {"torch": GLOO, "interfaces": LOOPBACK, "launch": Launch()}
        measured = measure(Snapshot(facts), here, say=said.append)
        [device] = measured.devices
        assert (device.ordinal, device.wrong_elements) == (-1, 0)
        assert (device.memory or 0) > 0.1
        [gloo] = measured.collectives
        assert (gloo.interface, gloo.ranks, gloo.error, gloo.wrong) == ("lo", 2, None, [])
        assert "bfloat16" in gloo.checked
        assert [payload.size for payload in gloo.payloads] == [4096, 1 << 20, 16 << 20]
        [disk] = measured.disks
        assert (disk.wrong_bytes, disk.folder) == (0, os.getcwd())
        assert measured.connection is None
        assert measured.why("GPUs") == "this torch is a CPU build"
        assert any("all-reduce" in doing for doing in said), said

    def test_without_torch_the_disk_is_measured_and_the_rest_is_missing(self, here: Patient) -> None:
        measured = measure(Snapshot({"torch": Torch(imported=False)}), here)
        assert measured.disks
        assert measured.why("GPUs") == "torch was not imported"

    def test_a_short_timeout_ends_everything_soon(self, here: Patient) -> None:
        begun = time.monotonic()
        measured = measure(Snapshot({"torch": GLOO, "interfaces": LOOPBACK}), here, timeout=0.3)
        assert time.monotonic() - begun < 10
        assert "no answer in 0.3 s" in measured.why("processor")

    def test_what_finds_no_time_is_missing_and_the_whole_stays_bounded(
        self, here: Patient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(series, "WITHOUT_GPUS", 3.0)
        begun = time.monotonic()
        measured = measure(Snapshot({"torch": GLOO, "interfaces": LOOPBACK}), here)
        assert time.monotonic() - begun < 10
        assert measured.why("gloo over lo") == "no time was left for it"
        assert measured.collectives == []

    def test_a_saved_report_is_not_measured(self, tmp_path: Path) -> None:
        (tmp_path / "saved.json").write_text('{"schema": "gpudoctor.report/1"}')
        with pytest.raises(gpudoctor.BadInput, match="--deep measures this machine"):
            gpudoctor.check(source=str(tmp_path / "saved.json"), deep=True)


class TestGpus:
    """The order of things on a machine with GPUs; what the scripts would measure there is told by others."""

    TWO = Torch(imported=True, cuda_available=True, device_count=2, nccl_available=True, gloo_available=True)
    SPEED = "tell({'device': {'ordinal': int(request['device'][5:]), 'memory': 9.0}})\n"
    DONE = "tell({'doing': 'done'})\n"

    def test_two_gpus_are_measured_alone_and_together(
        self, here: Patient, scripts: Callable[[str, str], None]
    ) -> None:
        scripts("device_speed.py", self.SPEED + self.DONE)
        scripts(
            "peer_copies.py",
            "for a, b in request['pairs']: tell({'copy': {'source': a, 'target': b, 'wrong_elements': 0}})\n"
            + self.DONE,
        )
        scripts(
            "all_reduce.py",
            "assert request['backend'] == 'nccl' and request['sizes'][-1] == 256 << 20\n"
            "tell({'figures': {'first': 2.0}})\n"
            "tell({'payload': {'size': 4, 'seconds': 1.0, 'bus': 3.0}})\n" + self.DONE,
        )
        measured = measure(Snapshot({"torch": self.TWO}), here)
        assert [device.ordinal for device in measured.gpus] == [0, 1]
        assert [(copy.source, copy.target) for copy in measured.copies] == [(0, 1), (1, 0)]
        [nccl] = measured.collectives
        assert (nccl.backend, nccl.first, nccl.error) == ("nccl", 2.0, None)
        assert [missing.what for missing in measured.missing] == ["connection to the rendezvous"]

    def test_with_a_gpu_that_does_not_answer_nobody_waits_for_it(
        self, here: Patient, scripts: Callable[[str, str], None]
    ) -> None:
        scripts(
            "device_speed.py",
            "if request['device'] == 'cuda:1': sys.exit('CUDA error')\n" + self.SPEED + self.DONE,
        )
        measured = measure(Snapshot({"torch": self.TWO}), here)
        assert measured.why("GPU 1") == "exit status 1: CUDA error"
        assert measured.why("copies between GPUs") == "the measurement of GPU 1 did not come to its end"
        assert (measured.copies, measured.collectives) == ([], [])


class TestSaved:
    def test_a_saved_report_is_judged_again_without_measuring(self, tmp_path: Path) -> None:
        measured = Measurements(
            collectives=[
                Collective(backend="gloo", ranks=2, wrong=["rank 1, float32: 1 of 9"], checked=["float32"])
            ]
        )
        text = {"schema": "gpudoctor.report/1", "facts": {"measurements": msgspec.to_builtins(measured)}}
        (tmp_path / "saved.json").write_text(json.dumps(text))
        report = gpudoctor.check(source=str(tmp_path / "saved.json"))
        assert report.verdict.primary == "silent-corruption"
        assert report.facts["measurements"] == measured


class TestCollectives:
    @needs_torch
    def test_the_same_code_with_three_ranks(self, bench: Bench) -> None:
        made = measure_group(
            bench, "gloo", ["cpu"] * 3, sizes=[4096], seconds=0.2, deadline=40, interface="lo"
        )
        assert (made.error, made.wrong, made.ranks, len(made.payloads)) == (None, [], 3, 1)

    @needs_torch
    def test_an_interface_that_is_not_there(self, bench: Bench) -> None:
        made = measure_gloo(bench, "nosuch0")
        assert "nosuch0" in (made.error or ""), made
        assert made.payloads == []

    def test_a_rank_that_fails_ends_the_others(
        self, bench: Bench, scripts: Callable[[str, str], None]
    ) -> None:
        scripts(
            "all_reduce.py",
            "if request['rank'] == 1:\n    tell({'failed': 'CUDA error: unhandled'})\n    os._exit(1)\ntime.sleep(60)",
        )
        begun = time.monotonic()
        made = measure_nccl(bench, 2, large=False)
        assert time.monotonic() - begun < 10
        assert made.error == "rank 1: CUDA error: unhandled"

    def test_every_rank_tells_what_it_received_wrong(
        self, bench: Bench, scripts: Callable[[str, str], None]
    ) -> None:
        scripts(
            "all_reduce.py",
            "tell({'wrong': 'rank %d, float32: bad' % request['rank']})\ntell({'doing': 'done'})",
        )
        assert measure_nccl(bench, 2, large=True).wrong == ["rank 0, float32: bad", "rank 1, float32: bad"]

    def test_loopback_comes_first_and_what_is_down_not_at_all(self) -> None:
        found = Interfaces(
            all=[
                Interface(name="docker0", up=True, addresses=["172.17.0.1"], virtual=True),
                Interface(name="eth0", up=True, addresses=["10.0.0.4"]),
                Interface(name="eth1", up=False, addresses=["10.0.1.4"]),
                Interface(name="eth2", up=True),
                Interface(name="lo", up=True, addresses=["127.0.0.1"], loopback=True, virtual=True),
            ]
        )
        assert interfaces_to_measure(found) == ["lo", "eth0", "docker0"]
        assert interfaces_to_measure(None) == []


@pytest.fixture
def harmed(tmp_path: Path) -> Callable[[str], Collective]:
    """Measure gloo over loopback in a network namespace in which a command harmed it."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "tc", "iptables", "unshare"))):
        pytest.skip("needs root, ip, tc, iptables and unshare")
    code = (
        "import sys, time, msgspec\n"
        "from gpudoctor.deep.bench import Bench\n"
        "from gpudoctor.deep.collectives import measure_gloo\n"
        "from gpudoctor.interpreter import Patient\n"
        "bench = Bench(Patient(sys.executable, ''), sys.argv[1], time.monotonic() + 60, None, lambda doing: None)\n"
        "sys.stdout.buffer.write(msgspec.json.encode(measure_gloo(bench, 'lo')))\n"
    )

    def run(harm: str) -> Collective:
        ready = ["unshare", "--net", "sh", "-c", f"ip link set lo up && {harm}"]
        tried = subprocess.run(ready, capture_output=True, text=True, timeout=20)
        if tried.returncode:
            pytest.skip(f"cannot be harmed here: {tried.stderr.strip()}")
        measured = ["sh", sys.executable, "-c", code, str(tmp_path)]
        command = [*ready[:-1], f'{ready[-1]} && exec "$@"', *measured]
        done = subprocess.run(command, capture_output=True, timeout=60)
        return msgspec.json.decode(done.stdout, type=Collective)

    return run


@needs_torch
def test_a_slow_interface_is_measured_as_slow(harmed: Callable[[str], Collective]) -> None:
    """200 Mbit/s are 0.025 GB/s for both ways together; loopback gives 1 GB/s."""
    made = harmed("tc qdisc add dev lo root tbf rate 200mbit burst 1mb latency 400ms")
    assert (made.error, made.wrong) == (None, [])
    assert made.largest is not None
    assert made.largest.size >= 1 << 20
    assert 0.003 < made.largest.bus < 0.03


@needs_torch
def test_an_interface_that_drops_everything_is_a_failure_with_its_reason(
    harmed: Callable[[str], Collective],
) -> None:
    made = harmed("iptables -A INPUT -p tcp -j DROP")
    assert made.error
    assert made.payloads == []


class TestCopies:
    @needs_torch
    def test_the_same_code_on_the_processor(self, bench: Bench) -> None:
        copies, missing = measure_copies(bench, ["cpu", "cpu"])
        assert [(c.source, c.target, c.wrong_elements) for c in copies] == [(0, 1, 0), (1, 0, 0)]
        assert all((c.speed or 0) > 0.01 for c in copies)
        assert missing == []

    def test_a_pair_that_hangs_or_dies_is_left_and_the_others_are_measured(
        self, bench: Bench, scripts: Callable[[str, str], None]
    ) -> None:
        scripts(
            "peer_copies.py",
            "for a, b in request['pairs']:\n"
            "    tell({'doing': 'copy', 'pair': [a, b]})\n"
            "    if (a, b) == (0, 1): os._exit(3)\n"
            "    if (a, b) == (1, 2): os.kill(os.getpid(), 11)\n"
            "    tell({'copy': {'source': a, 'target': b, 'speed': 20.0, 'wrong_elements': 0}})\n"
            "tell({'doing': 'done'})",
        )
        copies, missing = measure_copies(bench, ["cpu"] * 3)
        errors = {(c.source, c.target): c.error for c in copies}
        assert len(copies) == 6
        assert errors[0, 1] == "no answer in 10 s"
        assert "SIGSEGV" in (errors[1, 2] or "")
        assert sum(error is None for error in errors.values()) == 4
        assert missing == []

    def test_what_is_left_after_too_many_failures_is_missing(
        self, bench: Bench, scripts: Callable[[str, str], None]
    ) -> None:
        scripts("peer_copies.py", "tell({'pair': request['pairs'][0]})\nos._exit(3)")
        copies, [missing] = measure_copies(bench, ["cpu"] * 4)
        assert len(copies) == 4
        assert missing.why.startswith("8 pairs are left")


class TestDevices:
    def test_one_gpu_that_hangs_does_not_cost_the_others(
        self, bench: Bench, scripts: Callable[[str, str], None]
    ) -> None:
        scripts(
            "device_speed.py",
            "n = int(request['device'][5:])\n"
            "tell({'device': {'ordinal': n, 'memory': 900.0}})\n"
            "tell({'doing': 'matrix product'})\n"
            "if n == 1: time.sleep(60)\n"
            "if n == 2: tell({'missing': 'products', 'why': 'CUBLAS_STATUS_ALLOC_FAILED'})\n"
            "tell({'doing': 'done'})",
        )
        bench.timeout = 2
        devices, missing = measure_gpus(bench, 3)
        assert [(d.ordinal, d.memory) for d in devices] == [(0, 900.0), (1, 900.0), (2, 900.0)]
        assert {m.what: m.why for m in missing} == {
            "GPU 1": "no answer in 2 s during matrix product",
            "GPU 2: products": "CUBLAS_STATUS_ALLOC_FAILED",
        }

    @needs_torch
    def test_the_processor(self, bench: Bench) -> None:
        [device], missing = measure_processor(bench)
        assert (device.matrix_type, device.wrong_elements, missing) == ("float32", 0, [])


class TestDisk:
    def test_a_folder(self, tmp_path: Path) -> None:
        disk = measure_disk(str(tmp_path), most=8 << 20)
        assert (disk.size, disk.wrong_bytes) == (8 << 20, 0)
        assert (disk.write or 0) > 0
        assert (disk.read or 0) > 0
        assert list(tmp_path.iterdir()) == []

    def test_what_is_read_otherwise_or_not_at_all_is_counted(self) -> None:
        assert different(b"abcd", b"abcd") == 0
        assert different(b"abXd", b"abcd") == 1
        assert different(b"ab", b"abcd") == 2

    def test_too_little_room(self, tmp_path: Path) -> None:
        with pytest.raises(OSError, match=r"has less than 16\.0 MiB left"):
            measure_disk(str(tmp_path), most=1)

    def test_the_longest_mount_point_is_the_file_system(self, tmp_path: Path) -> None:
        mounts = tmp_path / "mounts"
        mounts.write_text(
            f"/dev/sda1 / ext4 rw 0 0\nserver:/x {tmp_path} nfs4 rw 0 0\nx {tmp_path}2 xfs rw 0 0\n"
        )
        assert file_system(str(tmp_path / "folder"), mounts) == "nfs4"
        assert file_system("/etc", mounts) == "ext4"
        assert file_system("/etc", tmp_path / "missing") == ""


class TestConnection:
    def test_a_listener(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            made = connect("127.0.0.1", server.getsockname()[1])
        assert (made.outcome, made.addresses) == ("connected", ["127.0.0.1"])

    def test_nobody_listens(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        assert connect("127.0.0.1", port).outcome == "refused"

    def test_no_such_name(self) -> None:
        assert connect("no such name", 29500).outcome == "unresolved"

    def test_a_port_whose_queue_is_full_gives_no_answer(self) -> None:
        """As behind a firewall that drops: the kernel lets the request wait."""
        with socket.socket() as server, contextlib.ExitStack() as waiting:
            server.bind(("127.0.0.1", 0))
            server.listen(0)
            for _ in range(4):
                client = waiting.enter_context(socket.socket())
                client.setblocking(False)
                client.connect_ex(server.getsockname())
            made = connect("127.0.0.1", server.getsockname()[1], seconds=0.3)
        assert (made.outcome, made.reason) == ("no answer", "no answer in 0.3 s")


@needs_torch
def test_an_interrupt_leaves_no_process_and_no_file(tmp_path: Path, wait_for: Callable[..., float]) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    command = [sys.executable, "-m", "gpudoctor", "check", "--deep", "--only", "slow-collective"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, "TMPDIR": str(temporary)}, stdout=subprocess.DEVNULL
    )

    def ranks() -> list[psutil.Process]:
        found = []
        for one in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if one.pid != process.pid and any(str(temporary) in part for part in one.cmdline()):
                    found.append(one)
        return found

    try:
        wait_for(lambda: bool(ranks()), 60)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 128 + signal.SIGINT
        wait_for(lambda: not ranks(), 3)
        assert list(temporary.iterdir()) == []
        assert sorted(path.name for path in tmp_path.iterdir()) == ["tmp"]
    finally:
        process.kill()


@pytest.mark.gpu
def test_a_gpu_computes_right_and_has_figures(bench: Bench, gpu_count: int) -> None:
    devices, missing = measure_gpus(bench, gpu_count)
    assert missing == []
    assert [device.wrong_elements for device in devices] == [0] * gpu_count
    assert all(d.host_to_device and d.device_to_host and d.memory and d.matrix_product for d in devices)


@pytest.mark.multigpu
def test_copies_between_gpus_arrive_right(bench: Bench, gpu_count: int) -> None:
    copies, missing = measure_copies(bench, [f"cuda:{n}" for n in range(gpu_count)])
    assert missing == []
    assert len(copies) == gpu_count * (gpu_count - 1)
    assert {copy.wrong_elements for copy in copies} == {0}


@pytest.mark.multigpu
def test_nccl_sums_right(bench: Bench, gpu_count: int) -> None:
    made = measure_nccl(bench, gpu_count, large=False)
    assert (made.error, made.wrong, len(made.payloads)) == (None, [], 3)
