"""What tests share: the real probes, environments made to order, a stand-in NVML, and what this machine has."""

import functools
import gc
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import hypothesis
import psutil
import pytest

from gpudoctor import child, fork
from gpudoctor.collect import collect
from gpudoctor.interpreter import Patient
from gpudoctor.registry import Probe, Registry
from gpudoctor.snapshot import Snapshot
from tests.warm_python import warm_python

HERE = Path(__file__).parent

# A stranger's run must not fail by chance: the same examples each time. HYPOTHESIS_PROFILE=explore looks for new ones.
hypothesis.settings.register_profile("default", derandomize=True, deadline=None)
hypothesis.settings.register_profile("explore", max_examples=2000, deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


# A shell starts what it runs in the background with SIGINT ignored, and every process of a test would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Hundreds of processes are started: where they may keep no compiled modules, each of them compiles gpudoctor again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Some tests import torch, and with it pynvml, into this process, where none opens a driver. That must not keep
# gpudoctor's own probes from being forks in all tests after them: each snapshot would start twenty interpreters.
fork.UNFORKABLE = ()


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two workers for each processor: half of the time a test waits for ranks that meet, daemons and deadlines."""
    return 2 * len(os.sched_getaffinity(0))


WAITING = (
    "proving",
    "deep",
    "test_two_hosts.py",
    "test_patients.py",
    "test_network_faults.py",
    "test_who_asks.py",
)
"""Folders and files of tests that mostly wait: for ranks that meet, hosts, deadlines."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let half of the workers begin with what waits, while the others compute: else it is left to the end, together.

    `worksteal` gives each worker one stretch of the list first.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    here = Path(__file__).parent
    waiting = [item for item in items if item.path.relative_to(here).parts[0] in WAITING]
    rest = [item for item in items if item.path.relative_to(here).parts[0] not in WAITING]
    early = max(1, workers // 2)
    stretches: list[pytest.Item] = []
    for worker in range(workers):
        size = (len(items) - len(stretches)) // (workers - worker)
        own = waiting[worker::early] if worker < early else []
        if len(own) > size:
            return  # a few files alone were asked for
        stretches += own + rest[: size - len(own)]
        rest = rest[size - len(own) :]
    items[:] = stretches


def pytest_collection_finish(session: pytest.Session) -> None:
    """Keep Python from searching nine thousand tests for garbage again and again, and every fork from copying them."""
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip, with the reason, what this machine has too few GPUs for."""
    needed = 2 if item.get_closest_marker("multigpu") else 1 if item.get_closest_marker("gpu") else 0
    if needed and (found := usable_gpus()) < needed:
        pytest.skip(f"needs {needed} GPU{'s' * (needed > 1)} that torch can use; this machine has {found}")


@functools.cache
def usable_gpus() -> int:
    """Ask torch how many GPUs it can use, in a process of its own: tests never import torch here."""
    count = "import torch; print(torch.cuda.device_count() if torch.cuda.is_available() else 0)"
    if importlib.util.find_spec("torch") is None:
        return 0
    answer = subprocess.run([warm_python(), "-c", count], capture_output=True, text=True, timeout=120)
    return int(answer.stdout) if answer.returncode == 0 else 0


@pytest.fixture(scope="session")
def gpu_count() -> int:
    """How many GPUs torch can use here."""
    return usable_gpus()


@pytest.fixture(scope="session")
def torch_folder() -> Path:
    """The folder of the installed torch, found without importing it; the test is skipped where there is none."""
    return _installed("torch")


@pytest.fixture(scope="session")
def torchvision_folder() -> Path:
    """The folder of the installed torchvision; the test is skipped where there is none."""
    return _installed("torchvision")


def _installed(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"{package} is not installed beside gpudoctor")
    return Path(spec.origin).parent


@pytest.fixture(scope="session")
def registry() -> Registry:
    """Everything that is installed."""
    return Registry()


@pytest.fixture(scope="session")
def here() -> Patient:
    """The interpreter that runs the tests, as the patient."""
    return Patient(sys.executable, "the tests' own")


@pytest.fixture
def ask(registry: Registry, here: Patient) -> Callable[..., Snapshot]:
    """Run the real probes of some topics, each in a process of its own, and return what they learnt."""

    def ask(*topics: str, patient: Patient = here, timeout: float | None = None) -> Snapshot:
        return collect(
            [p for p in registry.probes if not p.topics.keys().isdisjoint(topics)], patient, timeout
        )

    return ask


@pytest.fixture
def script_probe(tmp_path: Path, registry: Registry) -> Callable[..., Probe]:
    """Make a probe of a text: a script that the patient runs, which tells facts of the topics given."""

    def make(
        code: str, name: str = "hostile", deadline: float = 10, topics: Iterable[str] = ("launch",)
    ) -> Probe:
        path = tmp_path / f"{name}.py"
        path.write_text(code)
        return Probe(name, {topic: registry.topics[topic] for topic in topics}, "", path, deadline)

    return make


@pytest.fixture(scope="session")
def nvml_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the stand-in for NVIDIA's management library; return the folder it lies in."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler (cc)")
    folder = tmp_path_factory.mktemp("nvml")
    source, library = HERE / "nvml" / "nvml.c", folder / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True, timeout=60)
    return folder


@pytest.fixture
def nvml(nvml_library: Path, tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """Return the variables under which a child's real pynvml sees the GPUs of a scenario; see nvml/nvml.c."""

    def environment(scenario: str) -> dict[str, str]:
        path = tmp_path / "scenario.txt"
        path.write_text(scenario + "\n")
        old = os.environ.get("LD_LIBRARY_PATH", "")
        folders = [
            str(nvml_library),
            *(part for part in old.split(":") if part and part != str(nvml_library)),
        ]
        return {"LD_LIBRARY_PATH": ":".join(folders), "NVML_SCENARIO": str(path)}

    return environment


@pytest.fixture
def with_gpus(
    nvml: Callable[[str], dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], None]:
    """Let every child of this test see the GPUs of a scenario; a library is looked for as the process began."""
    monkeypatch.setattr(child, "may_fork", lambda: False)

    def set_scenario(scenario: str) -> None:
        for name, value in nvml(scenario).items():
            monkeypatch.setenv(name, value)

    return set_scenario


@pytest.fixture
def processes_of() -> Iterator[Callable[[str], list[psutil.Process]]]:
    """Find the processes that carry a marker in their arguments; what is left of them is ended after the test."""
    markers = []

    def find(marker: str) -> list[psutil.Process]:
        markers.append(marker)
        found = []
        for process in psutil.process_iter():
            try:
                if marker in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:
                continue
        return found

    yield find
    for marker in set(markers):
        for process in find(marker):
            process.kill()


@pytest.fixture
def wait_for() -> Callable[[Callable[[], bool], float], float]:
    """Wait until something holds and return the seconds that took; fail when it does not hold in time."""

    def wait(holds: Callable[[], bool], most: float) -> float:
        begun = time.monotonic()
        while not holds():
            assert time.monotonic() - begun < most, f"not within {most} s"
            time.sleep(0.02)
        return time.monotonic() - begun

    return wait


@pytest.fixture(scope="session")
def generated() -> Callable[[str, str], bool]:
    """Return what compares a generated file with what it must be; with GPUDOCTOR_UPDATE=1 it writes it first."""

    def current(name: str, text: str) -> bool:
        path = HERE.parent / name
        if os.environ.get("GPUDOCTOR_UPDATE"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return path.exists() and path.read_text() == text

    return current


@pytest.fixture(scope="session")
def cuda_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the stand-in for the CUDA driver library; return the folder it lies in."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler (cc)")
    folder = tmp_path_factory.mktemp("cuda")
    source, library = HERE / "cuda" / "libcuda.c", folder / "libcuda.so.1"
    command = [compiler, "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", library, source, "-ldl"]
    subprocess.run(command, check=True, timeout=60)
    return folder


@pytest.fixture
def with_cuda(cuda_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let every child of this test load the stand-in libcuda with a scenario; see cuda/libcuda.c."""
    monkeypatch.setattr(child, "may_fork", lambda: False)

    def set_scenario(scenario: str) -> None:
        path = tmp_path / "cuda-scenario.txt"
        path.write_text(scenario + "\n")
        folders = [str(cuda_library), os.environ.get("LD_LIBRARY_PATH", "")]
        monkeypatch.setenv("LD_LIBRARY_PATH", ":".join(folder for folder in folders if folder))
        monkeypatch.setenv("CUDA_SCENARIO", str(path))

    return set_scenario


@pytest.fixture
def barred() -> Iterator[Path]:
    """A folder with ``train.py``, and in it ``private``, the same for its owner alone; the test is another user."""
    # Not below pytest's own folder: there another user reaches nothing at all.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        private = folder / "private"
        private.mkdir()
        for place in (folder, private):
            (place / "train.py").write_text("import torch\n")
        private.chmod(0o700 if os.geteuid() == 0 else 0o000)
        if os.geteuid() == 0:
            os.seteuid(65534)
        try:
            yield folder
        finally:
            os.seteuid(os.getuid())
            private.chmod(0o700)
