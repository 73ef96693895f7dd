"""Broken environments, made for real: whatever the patient's torch does, the facts say it and the rest is unharmed."""

import ast
import dataclasses
import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import gpudoctor.patient
from gpudoctor.collect import collect
from gpudoctor.facts import Distributions, Python, Torch, Torchvision
from gpudoctor.interpreter import Patient, Unusable, choose_patient
from gpudoctor.registry import Registry
from gpudoctor.report import ProbeStatus
from gpudoctor.snapshot import Snapshot
from tests.processor_time import slowness

PATIENT_TOPICS = ("python", "distributions", "torch", "torchvision")


@dataclass
class Environment:
    """A virtual environment made for a test."""

    folder: Path
    site: Path
    """Its site-packages."""

    @property
    def patient(self) -> Patient:
        return Patient(str(self.folder / "bin" / "python"), "--python")

    def write(self, name: str, text: str) -> None:
        """Put a file into site-packages."""
        path = self.site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def link(self, source: Path, skip: tuple[str, ...] = ()) -> None:
        """Link each entry of a folder into site-packages, as if it had been installed there."""
        for entry in source.iterdir():
            if (
                not entry.name.startswith(skip)
                and entry.suffix != ".pth"
                and not (self.site / entry.name).exists()
            ):
                (self.site / entry.name).symlink_to(entry)


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    """A virtual environment with nothing in it."""
    for name in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    return make_environment(sys.executable, tmp_path / "environment")


def make_environment(python: str, folder: Path) -> Environment:
    command = [python, "-m", "venv", "--without-pip", str(folder)]
    made = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if made.returncode:
        pytest.skip(
            f"{python} cannot make a virtual environment: {(made.stdout + made.stderr).strip()[-200:]}"
        )
    (site,) = folder.glob("lib/python*/site-packages")
    return Environment(folder, site)


@pytest.fixture
def examine(registry: Registry) -> Callable[..., Snapshot]:
    """Run the real probes that a patient runs, and for `whole` all others, too, which must all be well."""

    def examine(patient: Patient, deadline: float | None = None, *, whole: bool = False) -> Snapshot:
        """`deadline`, in seconds, is that of the probes that run under the patient."""
        probes = [
            dataclasses.replace(p, deadline=min(deadline, p.deadline)) if deadline and p.script else p
            for p in registry.probes
            if whole or p.script
        ]
        begun = time.monotonic()
        snapshot = collect(probes, patient)
        took = time.monotonic() - begun
        longest = max(p.deadline for p in probes if p.script)
        assert took < longest + 4 or took < longest + 4 * slowness()
        assert {p.name for p in snapshot.probes} == {topic for p in probes for topic in p.topics}
        own = {
            p.name: (p.status, p.reason)
            for p in snapshot.probes
            if p.name not in (*PATIENT_TOPICS, "cuda", "variables", "toolkit")
        }
        # A container without a PCI bus, for one: the real machine may refuse, but nothing may crash or hang.
        assert {
            name: why for name, why in own.items() if why[0] not in (ProbeStatus.OK, ProbeStatus.FAILED)
        } == {}
        return snapshot

    return examine


def statuses(snapshot: Snapshot) -> list[ProbeStatus]:
    """How the patient's own topics ended, in their order."""
    found = {p.name: p.status for p in snapshot.probes}
    return [found[topic] for topic in PATIENT_TOPICS]


def reason(snapshot: Snapshot, topic: str) -> str:
    return next(p.reason or "" for p in snapshot.probes if p.name == topic)


def torch_of(snapshot: Snapshot) -> Torch:
    torch = snapshot.get(Torch)
    assert torch is not None, snapshot.probes
    return torch


def vision_of(snapshot: Snapshot) -> Torchvision:
    vision = snapshot.get(Torchvision)
    assert vision is not None, snapshot.probes
    return vision


OK = [ProbeStatus.OK] * 4


# No torch, or none that is one


def test_an_environment_without_torch_is_fully_known(
    environment: Environment, examine: Callable[..., Snapshot]
) -> None:
    snapshot = examine(environment.patient, whole=True)
    assert statuses(snapshot) == OK
    python = snapshot.get(Python)
    assert python is not None
    assert python.version == ".".join(map(str, sys.version_info[:3]))
    assert Path(python.prefix).resolve() == environment.folder.resolve()
    assert (python.environment, python.chosen) == ("virtual environment", "--python")
    assert str(environment.site.resolve()) in [os.path.realpath(p) for p in python.search_path]
    torch = torch_of(snapshot)
    assert (torch.file, torch.imported) == (None, False)
    assert torch.error is not None
    assert (torch.error.type, torch.error.message) == ("ModuleNotFoundError", "No module named 'torch'")
    assert (torch.interrupted, torch.stage, torch.version) == (None, "done", None)
    assert vision_of(snapshot) == Torchvision()


def test_a_folder_named_torch_is_told_from_torch(
    environment: Environment, examine: Callable[..., Snapshot]
) -> None:
    """A checkout or an interrupted removal leaves a folder that imports as an empty namespace package."""
    (environment.site / "torch" / "lib").mkdir(parents=True)
    torch = torch_of(examine(environment.patient))
    assert torch.imported is True
    assert torch.version is None
    assert torch.file == str(environment.site / "torch")


def test_distributions_that_matter_are_listed_and_private_ones_are_not(
    environment: Environment, examine: Callable[..., Snapshot]
) -> None:
    """A broken one among them hides none of the others."""
    for name, version, extra in (
        ("torch", "2.6.0+cpu", ""),
        ("torchvision", "0.21.0", "Requires-Dist: torch==2.6.0\nRequires-Dist: numpy\n"),
        ("nvidia_nccl_cu12", "2.21.5", ""),
        ("acme_secret_project", "1.0", "Requires-Dist: torch\n"),
    ):
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{extra}"
        environment.write(f"{name}-{version}.dist-info/METADATA", text)
    (environment.site / "triton-3.0.0.dist-info").mkdir()
    environment.write("numpy-1.0.dist-info/METADATA", "")
    environment.write("scipy-1.0.dist-info/METADATA", "")
    (environment.site / "scipy-1.0.dist-info/METADATA").write_bytes(b"Name: scipy\nVersion: \xff\xfe\n")
    second = environment.folder / "second"
    (second / "torch-2.5.0.dist-info").mkdir(parents=True)
    (second / "torch-2.5.0.dist-info/METADATA").write_text(
        "Metadata-Version: 2.1\nName: torch\nVersion: 2.5.0\n"
    )
    environment.write("second.pth", str(second) + "\n")
    snapshot = examine(environment.patient)
    assert statuses(snapshot) == OK
    found = snapshot.get(Distributions)
    assert found is not None
    assert [d.version for d in found.named("torch")] == ["2.6.0+cpu", "2.5.0"]
    vision = found.get("torchvision")
    assert vision is not None
    assert vision.requires == ["torch==2.6.0"]
    assert found.get("nvidia-nccl-cu12") is not None
    assert "acme" not in str(found)


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux alone")
def test_a_folder_whose_name_is_no_text_does_not_hide_the_facts(
    environment: Environment, examine: Callable[..., Snapshot], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.fsdecode(bytes(environment.folder) + b"/caf\xe9"))
    snapshot = examine(environment.patient)
    assert statuses(snapshot) == OK
    python = snapshot.get(Python)
    assert python is not None
    assert python.search_path[1].endswith("/caf?")


# A torch that misbehaves on import


def test_a_torch_that_hangs_on_import_costs_its_deadline(
    environment: Environment, examine: Callable[..., Snapshot]
) -> None:
    environment.write("torch/__init__.py", "import time\ntime.sleep(100)\n")
    snapshot = examine(environment.patient, deadline=3, whole=True)
    assert statuses(snapshot) == [ProbeStatus.OK, ProbeStatus.OK, ProbeStatus.TIMEOUT, ProbeStatus.TIMEOUT]
    assert reason(snapshot, "torch") == "no answer in 3 s during import torch"
    torch = torch_of(snapshot)
    assert torch.file == str(environment.site / "torch/__init__.py")
    assert (torch.imported, torch.stage, torch.interrupted) == (None, "import torch", "no answer in 3 s")


CORE = "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"


@pytest.mark.parametrize(
    ("code", "interrupted"),
    [
        ("import ctypes; ctypes.string_at(0)", "killed by SIGSEGV"),
        ("import os; os.abort()", "killed by SIGABRT"),
        ("import os; os.kill(os.getpid(), 4)", "killed by SIGILL"),
        ("import os; os._exit(7)", "exit status 7"),
        ("import os; os._exit(0)", "ended before it was done"),
        ("import os\nwhile True: os.write(1, b'warning: noise\\n' * 5000)", "more than 32.0 MiB of output"),
    ],
    ids=["segfault", "abort", "illegal-instruction", "exit-7", "exit-0", "flood"],
)
def test_a_torch_that_ends_the_process_on_import_says_how(
    environment: Environment, examine: Callable[..., Snapshot], code: str, interrupted: str
) -> None:
    environment.write("torch/__init__.py", CORE + code)
    snapshot = examine(environment.patient, deadline=20, whole=True)
    assert statuses(snapshot) == [ProbeStatus.OK, ProbeStatus.OK, ProbeStatus.CRASHED, ProbeStatus.CRASHED]
    assert reason(snapshot, "torch").startswith(f"{interrupted} during import torch")
    torch = torch_of(snapshot)
    assert (torch.imported, torch.stage, torch.interrupted) == (None, "import torch", interrupted)
    assert torch.file


@pytest.mark.parametrize(
    ("code", "kind", "message"),
    [
        ("import sys; sys.exit('no licence')", "SystemExit", "no licence"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt", ""),
        ("import nonexistent_part", "ModuleNotFoundError", "No module named 'nonexistent_part'"),
        ("raise OSError('libcudart.so.12: cannot open shared object file')", "OSError", "libcudart"),
        ("def broken(:", "SyntaxError", "invalid syntax"),
        ("def f(): return f()\nf()", "RecursionError", "maximum recursion depth"),
    ],
    ids=["sys.exit", "interrupt", "missing-part", "missing-library", "syntax", "recursion"],
)
def test_what_a_torch_raises_on_import_is_kept_whole(
    environment: Environment, examine: Callable[..., Snapshot], code: str, kind: str, message: str
) -> None:
    environment.write("torch/__init__.py", code)
    snapshot = examine(environment.patient)
    assert statuses(snapshot) == OK
    torch = torch_of(snapshot)
    assert (torch.imported, torch.interrupted, torch.stage) == (False, None, "done")
    assert torch.error is not None
    assert torch.error.type == kind
    assert message in torch.error.message
    assert "torch/__init__.py" in torch.error.traceback


def test_a_torch_that_prints_our_own_mark_is_not_believed_blindly(
    environment: Environment, examine: Callable[..., Snapshot]
) -> None:
    environment.write(
        "torch/__init__.py", 'print(\'gpudoctor {"topic": "torch", "facts": {"imported": "maybe"}}\')'
    )
    snapshot = examine(environment.patient)
    assert statuses(snapshot)[:3] == [ProbeStatus.OK, ProbeStatus.OK, ProbeStatus.FAILED]
    assert "imported" in reason(snapshot, "torch")


def test_a_torch_that_closes_standard_output_gives_no_false_health(
    environment: Environment, examine: Callable[..., Snapshot]
) -> None:
    environment.write("torch/__init__.py", "import os; os.close(1); os.close(2)")
    snapshot = examine(environment.patient, whole=True)
    assert statuses(snapshot)[2] is not ProbeStatus.OK
    assert torch_of(snapshot).imported is None


def test_a_torch_that_leaves_a_daemon_behind_does_not_delay_the_answer(
    environment: Environment, examine: Callable[..., Snapshot]
) -> None:
    environment.write("torch/__init__.py", "import os, time\nif os.fork() == 0:\n    time.sleep(100)\n")
    snapshot = examine(environment.patient, deadline=10, whole=True)
    assert statuses(snapshot) == OK
    assert torch_of(snapshot).imported is True


# Files in the working folder


@pytest.mark.parametrize("name", ["json", "random", "re", "traceback", "platform"])
def test_a_file_in_the_working_folder_that_shadows_the_library_blinds_nobody(
    environment: Environment, examine: Callable[..., Snapshot], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """It breaks a torch that imports that name, and the report says so, as the training would."""
    work = environment.folder / "work"
    work.mkdir()
    (work / f"{name}.py").write_text(f"raise RuntimeError('not the {name} that you want')")
    environment.write("torch/__init__.py", f"import {name}\n")
    monkeypatch.chdir(work)
    snapshot = examine(environment.patient)
    assert statuses(snapshot) == OK
    torch = torch_of(snapshot)
    assert torch.imported is False
    assert torch.error is not None
    assert torch.error.message == f"not the {name} that you want"
    assert str(work / f"{name}.py") in torch.error.traceback


def test_a_torch_py_in_the_working_folder_is_what_import_torch_gives(
    environment: Environment, examine: Callable[..., Snapshot], monkeypatch: pytest.MonkeyPatch
) -> None:
    work = environment.folder / "work"
    work.mkdir()
    (work / "torch.py").write_text("# my experiments with torch\n")
    environment.write("torch/__init__.py", "__version__ = '2.0'")
    monkeypatch.chdir(work)
    snapshot = examine(environment.patient)
    assert statuses(snapshot) == OK
    torch = torch_of(snapshot)
    assert torch.file is not None
    assert os.path.realpath(torch.file) == str((work / "torch.py").resolve())
    assert (torch.imported, torch.version, torch.cuda_available) == (True, None, False)


# A real torch with a part that does not fit


def test_a_torch_that_lost_a_shared_library_says_which(
    environment: Environment, examine: Callable[..., Snapshot], torch_folder: Path
) -> None:
    library = next(iter(torch_folder.glob("lib/libtorch_cpu.*")), None)
    if library is None:
        pytest.skip("this torch has no libtorch_cpu")
    torch = environment.site / "torch"
    (torch / "lib").mkdir(parents=True)
    for source, target in ((torch_folder, torch), (torch_folder / "lib", torch / "lib")):
        for entry in source.iterdir():
            if entry.name not in ("lib", library.name):
                (target / entry.name).symlink_to(entry)
    environment.link(torch_folder.parent, skip=("gpudoctor", "__editable__"))
    snapshot = examine(environment.patient)
    assert statuses(snapshot) == OK
    facts = torch_of(snapshot)
    assert facts.file == str(torch / "__init__.py")
    assert (facts.imported, facts.interrupted) == (False, None)
    assert facts.error is not None
    assert facts.error.type in ("OSError", "ImportError")
    assert "libtorch_cpu" in facts.error.message
    distributions = snapshot.get(Distributions)
    assert distributions is not None
    assert distributions.get("torch") is not None


def test_the_tests_own_torch_is_described_to_the_end(
    examine: Callable[..., Snapshot], here: Patient, torch_folder: Path
) -> None:
    snapshot = examine(here, whole=True)
    assert statuses(snapshot) == OK
    torch = torch_of(snapshot)
    assert torch.file == str(torch_folder / "__init__.py")
    assert (torch.imported, torch.error, torch.interrupted, torch.stage) == (True, None, None, "done")
    distributions = snapshot.get(Distributions)
    assert distributions is not None
    installed = distributions.get("torch")
    if installed is not None:
        assert (torch.version or "").split("+")[0] == installed.version.split("+")[0]
    assert torch.seconds is not None
    assert (torch.threads or 0) > 0
    assert torch.device_count == len(torch.devices)
    if not torch.cuda_available:
        assert (torch.cuda is None) == (torch.cuda_error is None)
    if importlib.util.find_spec("torchvision"):
        vision = vision_of(snapshot)
        assert (vision.operators_load, vision.operators_error) == (True, None)
        assert vision.torch_version == torch.version


@pytest.fixture
def foreign_torchvision(
    environment: Environment, torch_folder: Path, torchvision_folder: Path
) -> Callable[[Path | None], Environment]:
    """The installed torch beside a torchvision whose compiled operators were made elsewhere."""

    def make(library: Path | None) -> Environment:
        package = environment.site / "torchvision"
        package.mkdir()
        extensions = [e for e in torchvision_folder.iterdir() if is_operators(e)]
        for entry in torchvision_folder.iterdir():
            if entry not in extensions:
                (package / entry.name).symlink_to(entry)
        name = extensions[0].name if extensions else "_C" + importlib.machinery.EXTENSION_SUFFIXES[0]
        if library is not None:
            (package / name).symlink_to(library)
        environment.write(
            "torchvision-0.15.2.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: torchvision\nVersion: 0.15.2\nRequires-Dist: torch (==2.0.1)\n",
        )
        environment.write("real.pth", f"{torch_folder.parent}\n{torchvision_folder.parent}\n")
        return environment

    return make


def is_operators(entry: Path) -> bool:
    return entry.name.startswith(("_C.", "_C_stable.")) and entry.suffix in (".so", ".pyd", ".dylib")


def compiled(folder: Path, code: str) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler (cc)")
    (folder / "foreign.c").write_text(code)
    library = folder / "foreign.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", library, folder / "foreign.c"], check=True, timeout=60
    )
    return library


def test_a_torchvision_of_another_release_fails_with_the_loaders_words(
    foreign_torchvision: Callable[[Path | None], Environment],
    examine: Callable[..., Snapshot],
    tmp_path: Path,
) -> None:
    """Its operators want a symbol that this torch no longer has."""
    symbol = "_ZN3c106detail14gone_in_this_torchEv"
    code = f"extern int {symbol}(void);\nint use(void) {{ return {symbol}(); }}"
    snapshot = examine(foreign_torchvision(compiled(tmp_path, code)).patient)
    assert statuses(snapshot) == OK
    torch, vision = torch_of(snapshot), vision_of(snapshot)
    assert torch.imported is True
    assert torch.stage == "done"
    assert (vision.version, vision.requires_torch) == ("0.15.2", ["torch==2.0.1"])
    assert vision.torch_version == torch.version
    assert vision.operators_load is False
    assert f"undefined symbol: {symbol}" in (vision.operators_error or "")


def test_a_torchvision_whose_library_brings_no_operators_is_seen(
    foreign_torchvision: Callable[[Path | None], Environment],
    examine: Callable[..., Snapshot],
    tmp_path: Path,
) -> None:
    vision = vision_of(examine(foreign_torchvision(compiled(tmp_path, "int nothing;")).patient))
    assert vision.operators_load is False
    assert "torchvision::nms" in (vision.operators_error or "")


def test_a_torchvision_without_its_compiled_part_is_seen(
    foreign_torchvision: Callable[[Path | None], Environment], examine: Callable[..., Snapshot]
) -> None:
    vision = vision_of(examine(foreign_torchvision(None).patient))
    assert (vision.library, vision.operators_load) == (None, False)
    assert vision.operators_error


def test_a_torchvision_that_crashes_leaves_what_is_known_of_torch(
    foreign_torchvision: Callable[[Path | None], Environment],
    examine: Callable[..., Snapshot],
    tmp_path: Path,
) -> None:
    code = "__attribute__((constructor)) static void crash(void) { *(volatile int *)0 = 0; }"
    snapshot = examine(foreign_torchvision(compiled(tmp_path, code)).patient, whole=True)
    assert statuses(snapshot) == [ProbeStatus.OK, ProbeStatus.OK, ProbeStatus.CRASHED, ProbeStatus.CRASHED]
    torch, vision = torch_of(snapshot), vision_of(snapshot)
    assert torch.imported is True
    assert torch.version
    assert torch.stage == "loading torchvision's operators"
    assert torch.interrupted is not None
    assert torch.interrupted == vision.interrupted
    assert torch.interrupted.startswith("killed by SIG")
    assert vision.operators_load is None
    assert vision.library


# Patients that are no Python, and old ones


@pytest.mark.parametrize("program", ["true", "cat", "sh"])
def test_a_patient_that_is_not_python_fails_its_own_probes_alone(
    examine: Callable[..., Snapshot], program: str
) -> None:
    executable = shutil.which(program)
    assert executable is not None
    snapshot = examine(Patient(executable, "--python"), deadline=5, whole=True)
    assert ProbeStatus.OK not in statuses(snapshot)
    assert all(reason(snapshot, topic) for topic in PATIENT_TOPICS)
    assert snapshot.get(Torch) is None
    assert snapshot.reason(Torch).startswith("torch: ")


def test_a_patient_that_is_gone_by_now_says_so(examine: Callable[..., Snapshot], tmp_path: Path) -> None:
    snapshot = examine(Patient(str(tmp_path / "python"), "--python"), whole=True)
    assert statuses(snapshot) == [ProbeStatus.CRASHED] * 4
    assert reason(snapshot, "torch") == "cannot be run: No such file or directory"


def find_python(minor: int) -> str | None:
    """Look where interpreters usually lie for one of that version that runs."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    places = [Path(folder) / f"python3.{minor}" for folder in ("/usr/bin", "/usr/local/bin")]
    places += sorted(pyenv.glob(f"versions/3.{minor}.*/bin/python3.{minor}"))
    places += sorted((Path.home() / ".local/share/uv/python").glob(f"*-3.{minor}.*/bin/python3.{minor}"))
    for place in places:
        if (
            os.access(place, os.X_OK)
            and subprocess.run([place, "-c", ""], capture_output=True).returncode == 0
        ):
            return str(place)
    return None


@pytest.mark.parametrize("minor", range(8, 14))
def test_every_python_from_3_8_on_can_be_a_patient(
    examine: Callable[..., Snapshot], tmp_path: Path, minor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = find_python(minor)
    if python is None:
        pytest.skip(f"there is no Python 3.{minor} on this machine")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    environment = make_environment(python, tmp_path / "environment")
    environment.write("torch-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: torch\nVersion: 1.0\n")
    environment.write(
        "torch/__init__.py", "__version__ = '1.0'\nimport warnings; warnings.warn('an old one')"
    )
    snapshot = examine(environment.patient)
    assert statuses(snapshot) == OK
    facts = snapshot.get(Python)
    assert facts is not None
    assert facts.version.startswith(f"3.{minor}.")
    torch = torch_of(snapshot)
    assert (torch.imported, torch.version, torch.warnings) == (True, "1.0", ["UserWarning: an old one"])
    distributions = snapshot.get(Distributions)
    assert distributions is not None
    assert [d.version for d in distributions.named("torch")] == ["1.0"]


def test_a_python_too_old_says_at_least_what_it_is(examine: Callable[..., Snapshot]) -> None:
    python = find_python(7)
    if python is None:
        pytest.skip("there is no Python 3.7 on this machine")
    facts = examine(Patient(python, "--python")).get(Python)
    assert facts is not None
    assert facts.version.startswith("3.7.")


@pytest.mark.parametrize("script", sorted(p.name for p in Path(gpudoctor.patient.__path__[0]).glob("*.py")))
def test_scripts_for_the_patient_are_python_3_8(script: str) -> None:
    text = (Path(gpudoctor.patient.__path__[0]) / script).read_text()
    tree = ast.parse(text, script, feature_version=(3, 8))
    imported = {
        a.name.partition(".")[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names
    }
    imported |= {
        (n.module or "").partition(".")[0]
        for n in ast.walk(tree)
        if isinstance(n, ast.ImportFrom) and not n.level
    }
    beside = {p.stem for p in Path(gpudoctor.patient.__path__[0]).glob("*.py")}
    assert imported <= {*sys.stdlib_module_names, "torch", "torchvision", *beside} - {"gpudoctor"}


# Which interpreter is the patient


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Make folders that look like environments; no environment is active."""
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)

    def make(name: str, program: str = "python") -> Path:
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "bin" / program).symlink_to(sys.executable)
        return tmp_path / name

    return make


def test_without_anything_gpudoctors_own_interpreter_is_the_patient(folders: Callable[[str], Path]) -> None:
    patient = choose_patient()
    assert (patient.executable, patient.by_default) == (sys.executable, True)


@pytest.mark.parametrize(
    ("variable", "words"),
    [("VIRTUAL_ENV", "active virtual environment"), ("CONDA_PREFIX", "active conda environment")],
)
@pytest.mark.parametrize("program", ["python", "python3"])
def test_an_active_environment_is_the_patient(
    folders: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, variable: str, words: str, program: str
) -> None:
    prefix = folders("environment", program)
    monkeypatch.setenv(variable, str(prefix))
    patient = choose_patient()
    assert patient == Patient(str(prefix / "bin" / program), words, by_default=False)


@pytest.mark.parametrize("first", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_of_two_active_environments_the_first_on_the_path_wins(
    folders: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """As it does for the user's own `python`."""
    prefixes = {"VIRTUAL_ENV": folders("venv"), "CONDA_PREFIX": folders("conda")}
    for variable, prefix in prefixes.items():
        monkeypatch.setenv(variable, str(prefix))
    order = sorted(prefixes.values(), key=lambda prefix: prefix != prefixes[first])
    monkeypatch.setenv("PATH", os.pathsep.join([*(f"{prefix}/bin" for prefix in order), "/usr/bin", "/bin"]))
    assert choose_patient().executable == str(prefixes[first] / "bin/python")
    shell = subprocess.run(["sh", "-c", "command -v python"], capture_output=True, text=True, check=True)
    assert shell.stdout.strip() == choose_patient().executable


def test_an_active_environment_that_is_gone_is_passed_over(
    folders: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "deleted"))
    assert choose_patient().by_default
    conda = folders("conda")
    monkeypatch.setenv("CONDA_PREFIX", str(conda))
    assert choose_patient().executable == str(conda / "bin/python")


def test_a_named_interpreter_beats_an_active_environment(
    folders: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", str(folders("active")))
    named = folders("named") / "bin" / "python"
    assert choose_patient(str(named)) == Patient(str(named), "--python")


def test_a_folder_names_the_interpreter_in_it(folders: Callable[[str], Path]) -> None:
    assert choose_patient(str(folders("environment"))).executable.endswith("/environment/bin/python")


def test_a_symbolic_link_stays_one_since_it_is_what_makes_the_environment(
    folders: Callable[[str], Path],
) -> None:
    link = folders("environment") / "bin" / "python"
    assert link.is_symlink()
    assert choose_patient(str(link)).executable == str(link)


def test_a_name_is_looked_up_on_the_path(
    folders: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = folders("environment", "python3.99")
    monkeypatch.setenv("PATH", f"{prefix}/bin")
    assert choose_patient("python3.99").executable == str(prefix / "bin/python3.99")


def test_a_relative_path_is_a_file_not_a_name_on_the_path(
    folders: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix, other = folders("environment"), folders("other")
    monkeypatch.setenv("PATH", f"{other}/bin")
    monkeypatch.chdir(prefix / "bin")
    assert choose_patient("./python").executable == str(prefix / "bin/python")
    assert choose_patient("python").executable == str(other / "bin/python")


def test_a_tilde_is_the_home_folder(folders: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = folders("environment")
    monkeypatch.setenv("HOME", str(prefix.parent))
    assert choose_patient("~/environment").executable == str(prefix / "bin/python")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no-such-command", "no such file, and no such command on PATH"),
        ("{tmp}/missing/python", "no such file"),
        ("{tmp}/text", "not an executable file"),
        ("{tmp}", "holds no bin/python"),
        ("~no-such-user/python", "no such file"),
        ("", "--python"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_clear_line(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "text").write_text("just text")
    with pytest.raises(Unusable) as refused:
        choose_patient(name.format(tmp=tmp_path))
    assert words in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


def test_a_python_that_this_user_may_not_reach(barred: Path) -> None:
    link = barred / "python"
    os.seteuid(os.getuid())
    link.symlink_to(barred / "private/python3")
    if os.geteuid() == 0:
        os.seteuid(65534)
    with pytest.raises(Unusable) as refused:
        choose_patient(str(link))
    assert "this user may not reach that file, which leads to" in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1
