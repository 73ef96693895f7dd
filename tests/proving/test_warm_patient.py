"""Scripts as forks of a Python that has imported what they need: as an interpreter of their own, and nothing left."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import psutil
import pytest

from gpudoctor.interpreter import Patient
from gpudoctor.proving import warm_patient
from gpudoctor.proving.proofs import Bench, scripts_of
from gpudoctor.proving.training_script import DEFAULT
from gpudoctor.proving.warm_patient import suits, warm
from gpudoctor.registry import Registry
from tests.proving.test_reproduction import COLD, facts
from tests.warm_python import warm_python

HERE = Patient(sys.executable, "the tests' own")
REGISTRY = Registry()
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="descriptors are handed over on Linux alone")


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """The command; what it has imported is a module that costs nothing, which changes nothing else."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("modules")
        (folder / "asks_for_a_folder.py").write_text("import tempfile\ntempfile.gettempdir()\n")
        patch.setenv("PYTHONPATH", str(folder))
        patch.setattr(warm_patient, "MODULES", ("this_is_not_installed", "colorsys", "asks_for_a_folder"))
        with warm(HERE) as patient:
            assert patient is not None
            yield patient.executable


def ran(python, *arguments, **settings):
    return subprocess.run([python, *arguments], capture_output=True, text=True, timeout=60, **settings)


def test_a_script_is_a_process_of_its_own_in_the_callers_folder_and_environment(python, tmp_path):
    (tmp_path / "beside.py").write_text("VALUE = 7")
    script = tmp_path / "train.py"
    script.write_text(
        "import beside, os, sys\nprint(beside.VALUE, __name__, sys.argv, os.getcwd(), os.environ['OWN'], os.getpid(), "
        "'colorsys' in sys.modules)"
    )
    said = [
        ran(python, str(script), "--lr=1", cwd=tmp_path, env={**os.environ, "OWN": "mine"}) for _ in range(2)
    ]
    words = [one.stdout.split() for one in said]
    assert words[0][:2] == ["7", "__main__"], said[0]
    assert words[0][4:6] == [str(tmp_path), "mine"]
    assert words[0][-1] == "True"
    assert words[0][-2] != words[1][-2]


def test_what_it_leaves_behind_goes_into_the_callers_own_folder(python, tmp_path):
    code = "import tempfile; print(tempfile.mkdtemp())"
    done = ran(python, "-c", code, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert os.path.dirname(done.stdout.strip()) == str(tmp_path)


@pytest.mark.parametrize(
    ("code", "status", "words"),
    [
        ("pass", 0, ""),
        ("import sys; sys.exit('no data')", 1, "no data\n"),
        ("raise SystemExit(7)", 7, ""),
        ("import os; os.kill(os.getpid(), 9)", -9, ""),
        ("import atexit, sys; atexit.register(print, 'end', file=sys.stderr)", 0, "end\n"),
        ("1 / 0", 1, "ZeroDivisionError: division by zero\n"),
    ],
)
def test_it_ends_as_under_an_interpreter(python, code, status, words):
    done = ran(python, "-c", code)
    assert done.returncode == status
    assert done.stderr.endswith(words)
    assert "warm_python.py" not in done.stderr


def test_what_it_starts_is_warm_too_and_gets_its_open_files(python, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import multiprocessing as mp, os, subprocess, sys\n"
        "def tell(pipe):\n    pipe.send((os.getpid(), 'colorsys' in sys.modules))\n"
        "if __name__ == '__main__':\n"
        "    ours, theirs = mp.get_context('spawn').Pipe()\n"
        "    child = mp.get_context('spawn').Process(target=tell, args=(theirs,))\n    child.start()\n"
        "    pid, warm = ours.recv()\n    child.join()\n"
        "    print(pid != os.getpid(), warm, child.exitcode, flush=True)\n"
        "    subprocess.run([sys.executable, '-c', \"import sys; print('colorsys' in sys.modules)\"])\n"
    )
    done = ran(python, str(script))
    assert done.stdout == "True True 0\nTrue\n", done


def test_random_numbers_differ_from_script_to_script(python):
    assert len({ran(python, "-c", "import random; print(random.random())").stdout for _ in range(3)}) == 3


def test_what_is_killed_ends_with_all_that_it_started(python, processes_of, wait_for):
    marker = f"{time.time()}"
    code = f"import subprocess; subprocess.run(['setsid', 'sh', '-c', 'sleep 60', {marker!r}]); print('not here')"
    client = subprocess.Popen([python, "-c", code], stdout=subprocess.PIPE)
    wait_for(lambda: any(one.name() in ("sh", "sleep") for one in processes_of(marker)), 30)
    client.kill()
    client.wait()
    wait_for(lambda: not [one for one in processes_of(marker) if one.name() != "python"], 10)
    assert client.stdout.read() == b""
    client.stdout.close()


def test_nothing_is_left_of_it(monkeypatch):
    monkeypatch.setattr(warm_patient, "MODULES", ())
    before = {one.pid for one in psutil.Process().children(recursive=True)}
    with warm(HERE) as patient:
        client = subprocess.Popen([patient.executable, "-c", "import time; time.sleep(60)"])
        time.sleep(0.3)
    assert client.wait(timeout=10) in (1, -signal.SIGKILL)
    assert {one.pid for one in psutil.Process().children(recursive=True)} <= before
    assert not os.path.exists(patient.executable)


def test_a_patient_that_cannot_serve_is_none():
    with warm(Patient("/bin/false", "the test")) as patient:
        assert patient is None


def test_what_fails_at_an_import_never_finds_it_done():
    assert not [id for id in COLD if suits(scripts_of(REGISTRY, id))]


@pytest.mark.parametrize(
    ("id", "forked"),
    [("matmul-shapes", True), ("dp-small-batch", True), ("cuda-oom", False), ("hub-unreachable", False)],
)
def test_a_gpu_or_a_namespace_wants_an_interpreter_of_its_own(id, forked):
    assert suits(scripts_of(REGISTRY, id)) is forked


def test_what_does_not_hold_in_a_fork_is_run_as_its_run_line_says():
    asked = []

    def say(doing):
        asked.append(doing)

    bench = Bench(REGISTRY, Patient(warm_python(), "the test"), facts(), None, DEFAULT, None, say, print)
    proof = replace(bench, warm=Patient("/bin/false", "the test")).reproduced("matmul-shapes")
    assert proof.held, proof
    assert asked == ["matmul-shapes: broken.py", "matmul-shapes: fixed.py"] * 2
