"""The wheel holds what the tree holds, and works in an environment of its own without torch."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

DEPENDENCIES = "rich rich_click click psutil pynvml packaging msgspec markdown_it mdurl pygments".split()
ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel from a copy of the tree, so that no folder named build is left in it."""
    tree = tmp_path_factory.mktemp("tree")
    for name in ("pyproject.toml", "README.md", "LICENSE", "gpudoctor", "checks"):
        subprocess.run(["cp", "-r", str(ROOT / name), str(tree)], check=True)
    code = "from setuptools.build_meta import build_wheel; import sys; build_wheel(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", code, str(tree)], cwd=tree, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (built,) = tree.glob("*.whl")
    return built


def test_the_wheel_is_the_tree(wheel):
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    tree = {
        str(path.relative_to(ROOT))
        for folder in ("gpudoctor", "checks")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".typed", ".json") and "__pycache__" not in path.parts
    }
    assert packed == {re.sub("^checks/", "gpudoctor_checks/", name) for name in tree}


def test_the_installed_wheel_works_without_torch_and_finds_its_checks(wheel, tmp_path):
    """The environment holds the wheel and, through a path file, gpudoctor's dependencies; not torch."""
    environment = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    (site,) = environment.glob("lib/python3*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    dependencies = tmp_path / "dependencies"
    dependencies.mkdir()
    for name in DEPENDENCIES:
        for source in _of(name):
            (dependencies / source.name).symlink_to(source)
    (site / "dependencies.pth").write_text(str(dependencies) + "\n")
    python = environment / "bin/python"

    clean = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH")}

    def gpudoctor(*arguments):
        command = [python, "-m", "gpudoctor", *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120, env=clean)

    listed = gpudoctor("check", "--list")
    assert "port-in-use" in listed.stdout, listed
    assert gpudoctor("repro", "ddp", "--script").stdout.count("init_process_group") >= 1
    assert "```diff" in gpudoctor("show", "port-in-use").stdout
    own = gpudoctor("check", "-q")
    assert "torch-missing" in own.stdout, own
    assert own.returncode == 1
    other = gpudoctor("check", "-q", "--python", sys.executable)
    assert "torch-missing" not in other.stdout, other


def _of(name):
    """The files of an installed module, wherever it lies on the path."""
    for entry in sys.path:
        found = [p for p in (Path(entry) / name, Path(entry) / f"{name}.py") if p.exists()]
        if found:
            # rich reads its own version, and psutil has no metadata that it needs: the modules suffice.
            return found
    return []
