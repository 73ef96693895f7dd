"""The launcher that a log shows, and fixes in its words."""

import pytest

from gpudoctor import explain
from gpudoctor.launch_command import Launched, Launcher, fitted
from gpudoctor.logs.launcher import launched
from gpudoctor.logs.lines import read_text
from gpudoctor.model import Fix, Kind

TORCHRUN = (
    "E1122 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) local_rank: 1 (pid: 3)"
)
MAIN = '  File "/home/me/nets/train_vit.py", line 88, in <module>\n    main()\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("epoch 1 loss 3", Launched()),
        (TORCHRUN, Launched(Launcher.TORCHRUN)),
        (TORCHRUN + "\ngloo: connection closed", Launched(Launcher.TORCHRUN, ranks=2)),
        ("=====\nnets/fit.py FAILED\n-----", Launched(script="fit.py")),
        (MAIN, Launched(script="train_vit.py")),
        ('  File "/venv/bin/torchrun", line 8, in <module>\n', Launched(Launcher.TORCHRUN)),
        ("srun: error: n1: task 1: Exited with exit code 1", Launched(Launcher.SRUN)),
        ("srun: error: n1: task 1: Exited\n" + TORCHRUN, Launched(Launcher.TORCHRUN)),
        (
            'File "/v/accelerate/commands/launch.py", line 9, in main\n' + TORCHRUN,
            Launched(Launcher.ACCELERATE),
        ),
        (
            "[2024-01-19 10:07:12,401] [INFO] [launch.py:145:main] WORLD INFO DICT",
            Launched(Launcher.DEEPSPEED),
        ),
        ("torch.multiprocessing.spawn.ProcessRaisedException:", Launched(Launcher.PYTHON)),
    ],
)
def test_how_a_log_says_that_it_was_started(text, expected):
    assert launched(read_text(text, "log")) == expected


ALL, ONE = (
    "torchrun --nproc-per-node=gpu train.py",
    "CUDA_VISIBLE_DEVICES=0 torchrun --standalone --nproc-per-node=1 train.py",
)
KEEP = "torchrun --log-dir=logs --tee=3 --nproc-per-node=gpu train.py"
NODES = "torchrun --nnodes=2 --nproc-per-node=gpu --rdzv-backend=c10d --rdzv-endpoint=NODE0:29500 train.py"


@pytest.mark.parametrize(
    ("how", "all", "one", "keep"),
    [
        (Launched(), ALL, ONE, KEEP),
        (
            Launched(script="fit.py", ranks=2),
            "torchrun --nproc-per-node=2 fit.py",
            "CUDA_VISIBLE_DEVICES=0 torchrun --standalone --nproc-per-node=1 fit.py",
            "torchrun --log-dir=logs --tee=3 --nproc-per-node=2 fit.py",
        ),
        (
            Launched(Launcher.SRUN),
            "srun python train.py",
            "CUDA_VISIBLE_DEVICES=0 srun --ntasks=1 python train.py",
            "srun --output=rank%t.log python train.py",
        ),
        (
            Launched(Launcher.ACCELERATE),
            "accelerate launch train.py",
            "CUDA_VISIBLE_DEVICES=0 accelerate launch --num_processes=1 train.py",
            "accelerate launch --log_dir=logs --tee=3 train.py",
        ),
        (
            Launched(Launcher.DEEPSPEED),
            "deepspeed train.py",
            "CUDA_VISIBLE_DEVICES=0 deepspeed --num_gpus=1 train.py",
            "deepspeed --enable_each_rank_log=logs train.py",
        ),
        (
            Launched(Launcher.PYTHON),
            "python train.py",
            "CUDA_VISIBLE_DEVICES=0 python train.py",
            "python train.py 2>&1 | tee train.log",
        ),
    ],
)
def test_commands_are_those_of_the_launcher(how, all, one, keep):
    commands = [fix.command for fix in fitted([Fix("x", ALL), Fix("x", ONE), Fix("x", KEEP)], how)]
    assert commands == [all, one, keep]


def test_a_number_that_the_log_shows_is_filled_in():
    fixes = [Fix("x", ALL), Fix("x", ALL.replace("gpu", "N")), Fix("x", ALL.replace("gpu", "4"))]
    numbers = [fix.command.split("=")[1].split()[0] for fix in fitted(fixes, Launched(ranks=2))]
    assert numbers == ["2", "2", "4"]
    assert [fix.command.split("=")[1].split()[0] for fix in fitted(fixes, Launched())] == ["gpu", "N", "4"]


@pytest.mark.parametrize("launcher", list(Launcher))
def test_what_is_about_torchrun_itself_stays(launcher):
    (fix,) = fitted([Fix("x", NODES)], Launched(launcher))
    assert fix.command == NODES
    edit = Fix("x", "torchrun train.py", Kind.EDIT)
    assert fitted([edit], Launched(launcher)) == [edit]


FREE = Fix(
    "On one machine, let torchrun choose a free port", "torchrun --standalone --nproc-per-node=N train.py"
)


@pytest.mark.parametrize("launcher", [Launcher.SRUN, Launcher.ACCELERATE, Launcher.DEEPSPEED, None])
def test_where_the_words_name_torchrun_no_other_launcher_takes_its_place(launcher):
    (fix,) = fitted([FREE], Launched(launcher, "fit.py"))
    assert fix.command == "torchrun --standalone --nproc-per-node=N fit.py"


def test_torchrun_is_nothing_for_a_script_that_starts_its_ranks_itself():
    other, out = (
        Fix("x", ALL),
        Fix("Take mp.spawn out, and let torchrun start the ranks", "torchrun train.py"),
    )
    fixes = fitted([FREE, other, out], Launched(Launcher.PYTHON, "fit.py"))
    assert [fix.command for fix in fixes] == ["python fit.py", "torchrun fit.py"]


def test_the_script_is_named_where_no_launcher_is():
    for command in ("RANK=0 python train.py", "ps -u $(id -u) -o pid,args | grep '[t]rain.py'"):
        (fix,) = fitted([Fix("x", command)], Launched(Launcher.TORCHRUN, "fit.py"))
        assert fix.command == command.replace("python train.py", "python fit.py").replace("[t]rain", "[f]it")


@pytest.mark.parametrize(("text", "shown"), [("slurmstepd: error: step 3\n", True), ("", False)])
def test_slurms_commands_are_for_logs_of_slurm(text, shown):
    report = explain(f"{text}DataLoader worker (pid 77) is killed by signal: Killed.\n")
    assert any((fix.command or "").startswith("sacct") for fix in report.findings[0].fixes) is shown


def test_what_torchrun_sums_up_is_no_matter_where_another_launcher_started_the_ranks():
    record, other = Fix("Let it stand in torchrun's summary", "@record", Kind.EDIT), Fix("x", ALL)
    for launcher, known in ((Launcher.PYTHON, 1), (Launcher.SRUN, 1), (Launcher.ACCELERATE, 2), (None, 2)):
        assert len(fitted([record, other], Launched(launcher, "fit.py"))) == known
