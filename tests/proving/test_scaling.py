"""How the time of a step changes with the devices: what is measured, what limits it, how it reads."""

import importlib.util
import io
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from rich.console import Console

import gpudoctor
from gpudoctor.facts import Scaling, ScalingRun
from gpudoctor.proving.scaling import asked_runs
from gpudoctor.render.markdown import ticket
from gpudoctor.render.scaling import render, rows, svg
from gpudoctor.report import Report, Status
from gpudoctor.verdict import conclude, exit_code
from tests.warm_python import warm_python

ONE = ScalingRun(mode="single", devices=1, data=0.01, forward=0.03, backward=0.06)
FOUR = ScalingRun(mode="ddp", devices=4, data=0.0025, forward=0.008, backward=0.016, communication=0.004)
EIGHT = ScalingRun(mode="ddp", devices=8, data=0.002, forward=0.006, backward=0.012, communication=0.03)


def scaling(*runs, on="cuda", processors=64):
    return Scaling(runs=runs, batch=64, model="net", data="mnist", on=on, processors=processors)


def test_speed_up_and_efficiency_are_against_one_device():
    measured = scaling(ONE, FOUR)
    assert measured.speedup(ONE) == measured.efficiency(ONE) == 1
    assert measured.speedup(FOUR) == pytest.approx(0.1 / 0.0305)
    assert measured.efficiency(FOUR) == pytest.approx(0.1 / 0.0305 / 4)
    assert scaling(FOUR).efficiency(FOUR) is None


@pytest.mark.parametrize(
    ("run", "on", "limit"),
    [
        (FOUR, "cuda", None),
        (EIGHT, "cuda", "communication"),
        (ScalingRun(mode="ddp", devices=8, data=0.01, forward=0.005, backward=0.008), "cuda", "input"),
        (ScalingRun(mode="ddp", devices=8, forward=0.02, backward=0.03), "cuda", "batch too small per device (8)"),
        (ScalingRun(mode="ddp", devices=8, forward=0.02, backward=0.03), "cpu", "8 devices share 2 processors"),
        (ScalingRun(mode="dp", devices=2, forward=0.03, backward=0.06), "cpu", "one interpreter drives all devices"),
        (ONE, "cuda", None),
    ],
)  # fmt: skip
def test_what_limits_is_where_most_of_the_lost_time_goes(run, on, limit):
    assert scaling(ONE, run, on=on, processors=2).limit(run) == limit


def test_four_devices_that_are_faster_than_eight_are_explained():
    assert scaling(ONE, FOUR, EIGHT).sentence == (
        "ddp on 4 is the fastest: 3.28 x one device. ddp on 8 comes to 2.00 x; most of its time is lost to: "
        "communication."
    )


def test_table_and_picture():
    failed = ScalingRun(mode="dp", devices=8, failure="exit status 1")
    measured = scaling(ONE, FOUR, failed)
    assert rows(measured)[1] == [
        "ddp", "4", "2.50", "8.00", "16.00", "4.00", "0.00", "30.50", "3.28", "82%", "",
    ]  # fmt: skip
    assert rows(measured)[2][-1] == "exit status 1"
    console = Console(file=io.StringIO(), width=200)
    render(measured, console)
    drawn = console.file.getvalue()
    assert "  single 1       " + "." * 5 + "=" * 15 + "#" * 30 + "\n" in drawn
    assert "  ddp 4          " + "." + "=" * 4 + "#" * 8 + "!" * 2 + "\n" in drawn
    assert "dp 8 " not in drawn
    assert "  dp on 8: exit status 1\n" in drawn


def test_the_table_fits_into_80_columns():
    slow = ScalingRun(mode="functional", devices=128, data=0.02, forward=0.9, backward=0.9, communication=0.2)
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    render(scaling(ONE, EIGHT, slow), console)
    drawn = console.file.getvalue()
    assert max(map(len, drawn.splitlines())) <= 80
    assert "\u2026" not in drawn
    assert "  ddp on 8: limited by communication\n" in drawn


def test_the_report_carries_the_picture_as_svg():
    report = conclude(Report(facts={"scaling": scaling(ONE, FOUR, EIGHT)}))
    picture = svg(report.facts["scaling"])
    assert picture in ticket(report)
    root = ElementTree.fromstring(picture)
    bars = [shape for shape in root if shape.get("height") == "18"]
    assert sum(float(bar.get("width")) for bar in bars[:5]) == pytest.approx(480, abs=0.5)
    assert "\n\n" not in picture
    assert (report.verdict.status, exit_code(report, "error")) == (Status.HEALTHY, 0)
    assert report.verdict.sentence.startswith("ddp on 4 is the fastest")


@pytest.mark.parametrize(
    ("asked", "runs"),
    [
        (("ddp", (1, 2, 4), ()), [("ddp", 1), ("ddp", 2), ("ddp", 4)]),
        (("ddp", (), ("single", "dp", "ddp")), [("ddp", 2), ("dp", 2)]),
        (("dp", (1, 2), ()), [("dp", 2)]),
        (("single", (3,), ("average",)), [("average", 3)]),
    ],
)
def test_the_runs_that_are_asked_for(asked, runs):
    assert asked_runs(*asked) == runs


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("dpp",), "time the steps of a training mode"),
        (("ddp", [2], ["fsdp"]), "'fsdp' is no mode; modes are single, "),
        (("single", [2]), "single has one device"),
    ],
)
def test_what_is_no_mode_is_refused_before_anything_runs(asked, words):
    mode, *rest = asked
    with pytest.raises(gpudoctor.BadInput, match=words):
        gpudoctor.scale(mode, rest[0] if rest else (), strategies=rest[1] if rest[1:] else ())


def repro(*arguments):
    command = [sys.executable, "-m", "gpudoctor", "repro", *arguments]
    environment = {**os.environ, "PYTHON_EXEC": warm_python()}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=200)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ddp", "--scale", "1,two"], "'1,two' is no list of numbers of devices such as 1,2,4,8"),
        (["ddp", "--strategies", "dp,fsdp"], "'fsdp' is no mode"),
        (["single", "--scale", "1,2"], "single has one device"),
        (["port-in-use", "--scale", "1,2"], "--scale and --strategies time the steps of a training mode"),
        (["dp", "--data", "."], ". is a folder, and a folder is what --data-dir takes"),
        (["dp", "--data", "imagenet"], "'imagenet' is not one of mnist, fashion-mnist, cifar10"),
    ],
)
def test_what_cannot_be_asked(arguments, said):
    done = repro(*arguments)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed here")
def test_modes_are_really_timed_at_one_global_batch():
    done = repro("ddp", "--scale", "2", "--strategies", "manual", "--json", "--python", warm_python())
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)["facts"]["scaling"]
    assert [(run["mode"], run["devices"]) for run in measured["runs"]] == [
        ("single", 1),
        ("ddp", 2),
        ("manual", 2),
    ]
    assert measured["batch"] == 64
    single, ddp, manual = measured["runs"]
    assert all(
        run["failure"] is None and run["forward"] > 0 and run["backward"] > 0 for run in measured["runs"]
    )
    assert manual["communication"] > 0
    assert single["communication"] < manual["communication"]
    assert ddp["data"] > 0
