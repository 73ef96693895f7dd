"""Fabric manager and IMEX, from trees laid out as /proc, /dev and /var are."""

from pathlib import Path

from gpudoctor.facts import Fabric
from gpudoctor.probes.fabric import probe


def processes(root: Path, *names: str) -> None:
    for number, name in enumerate(names, 2):
        folder = root / "proc" / str(number)
        folder.mkdir(parents=True)
        (folder / "comm").write_text(name + "\n")


def test_what_runs_and_what_lies_there(tmp_path: Path) -> None:
    processes(tmp_path, "kthreadd", "nv-fabricmanage", "nvidia-imex", "python")  # 15 characters are kept
    for path, text in (
        ("usr/bin/nv-fabricmanager", ""),
        ("etc/nvidia-imex/nodes_config.cfg", "# nodes\n10.0.0.1\n10.0.0.2\n\n"),
        ("dev/nvidia-caps-imex-channels/channel0", ""),
        (
            "var/log/fabricmanager.log",
            "[INFO] ok\n[Jan 1] [ERROR] [tid 1] version don't match\n[INFO] exit\n",
        ),
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert probe(tmp_path) == Fabric(
        manager=True,
        manager_installed=True,
        manager_said="[Jan 1] [ERROR] [tid 1] version don't match",
        imex=True,
        imex_channels=1,
        imex_nodes=2,
    )


def test_a_whole_machine_without_them(tmp_path: Path) -> None:
    processes(tmp_path, "kthreadd", "python")
    assert probe(tmp_path) == Fabric(manager=False, imex=False)


def test_a_container_does_not_see_what_the_host_runs(tmp_path: Path) -> None:
    processes(tmp_path, "bash", "python")
    assert probe(tmp_path) == Fabric()


def test_without_proc(tmp_path: Path) -> None:
    assert probe(tmp_path) == Fabric()
