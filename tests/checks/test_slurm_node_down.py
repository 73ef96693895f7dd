"""slurm-node-down: nodes that take no jobs."""

from gpudoctor.facts import Launch, Slurm, SlurmNode
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("slurm-node-down")
DOWN = SlurmNode(name="gpu02", state="DOWN+NOT_RESPONDING", reason="Not responding", gpus=8)
IDLE = SlurmNode(name="gpu03", state="IDLE", gpus=8)


def look(*nodes):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"slurm": Slurm(nodes=list(nodes))}))


def test_found():
    result, [finding] = look(DOWN)
    assert (result.status, finding.severity) == (CheckStatus.FOUND, Severity.ERROR)
    assert finding.message == "gpu02 is DOWN+NOT_RESPONDING (Not responding): it takes no job"
    assert [fix.command for fix in finding.fixes] == [
        "sinfo -R; scontrol show node gpu02",
        "sbatch --exclude=gpu02 job.sh",
        "sudo scontrol update NodeName=gpu02 State=RESUME",
    ]


def test_one_of_several_is_a_note():
    _, [finding] = look(DOWN, SlurmNode(name="gpu05", reason="Kill task failed"), IDLE)
    assert finding.severity is Severity.NOTE
    assert finding.message == (
        "gpu02, gpu05 take no jobs; of gpu02 Slurm shows DOWN+NOT_RESPONDING (Not responding); 1 other node does"
    )


def test_passed():
    assert look(IDLE)[0].status is CheckStatus.PASSED
    here = Snapshot({"launch": Launch(variables={"SLURM_JOB_ID": "7"})})
    assert examine(CHECK, Source.ENVIRONMENT, here)[0].status is CheckStatus.PASSED


def test_unknown():
    assert examine(CHECK, Source.ENVIRONMENT, Snapshot())[0].status is CheckStatus.UNKNOWN


def test_fewer_gpus_than_promised_is_gpu_missing():
    short = SlurmNode(
        name="gpu01", state="IDLE+DRAIN", reason="gres/gpu count reported lower than configured (7 < 8)"
    )
    facts = Snapshot({"slurm": Slurm(nodes=[short])})
    result, [finding] = examine(Registry().check("gpu-missing"), Source.ENVIRONMENT, facts)
    assert result.status is CheckStatus.FOUND
    assert finding.message.startswith("slurmd counted 7 of 8 GPUs on gpu01")
