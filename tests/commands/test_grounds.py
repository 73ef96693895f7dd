"""Every fix that gpudoctor can print says what is known of it, and that is true as far as a test can see."""

import ast
import functools
import re
import sys
from pathlib import Path

import msgspec
import pytest

from gpudoctor import Fix, Kind
from gpudoctor.grounds import Grounds, Halves, held, known, proof_of, seen_on
from gpudoctor.model import How
from gpudoctor.proving.scripts import difference
from gpudoctor.registry import Registry
from gpudoctor.render.marks import besides, language, legend, mark, sentence
from gpudoctor.report import Proof, ProofStatus

sys.path.insert(0, str(Path(__file__).parent))

import printed
import shell
from expressions import UNREAD, texts
from test_commands import HARMLESS

ROOT = Path(__file__).parent.parent.parent
REGISTRY = Registry()
GROUNDS = msgspec.json.decode((ROOT / "checks/grounds.json").read_bytes(), type=Grounds)
RECORDS = sorted(path.stem for path in (ROOT / "checks/proofs").glob("*.json") if path.stem != "versions")
LOOKING = HARMLESS | set(
    "awk dmesg ethtool fi_info fuser ibstat ibv_devinfo journalctl modinfo nvidia-bug-report.sh nvidia-smi py-spy "
    "quota sacct sha256sum show_gids sinfo squeue taskset tracepath uname wc".split()
)
LOOKING |= {
    "command", "dcgmi health", "git rev-parse", "gpudoctor check", "gpudoctor checkpoint inspect", "gpudoctor report",
    "hf auth whoami", "ipmitool sdr", "ipmitool sel", "ipmitool sel list", "iptables", "kubectl describe",
    "kubectl explain", "kubectl get", "module avail", "nc", "npu-smi", "nvcc", "nvidia-imex-ctl", "nvidia-smi dmon",
    "nvidia-smi nvlink", "nvidia-smi topo", "pip check", "pip freeze", "pip show", "py-spy dump", "scontrol show",
    "ssh", "systemctl status", "python", "chronyc", "timedatectl",
}  # fmt: skip
"""Commands that change nothing, as they are printed: iptables -S, taskset -p, ssh for which."""
SHOWN_BY_NO_FIX = {
    "address-family": "the script writes a hosts file of its own, the fix a line of it",
    "cgroup-memory": "a limit that the script sets stands for docker's or Slurm's",
    "checkpoint-not-a-checkpoint": "the script writes the right file, the reader has to fetch it",
    "child-failed": "the script leaves out the fault that it has itself",
    "child-segfault": "the script leaves out the fault that it has itself",
    "cpus-per-rank": "the script takes more processors itself, the fixes ask Slurm or docker for them",
    "cuda-visible-devices": "needs a GPU",
    "dataloader-worker-killed": "the script leaves out the fault that it has itself",
    "ddp-device-ids": "the fix leaves an argument out",
    "debug-variable-left": "the fix has the variable's name from what was found",
    "disk-full": "the script writes to another disk",
    "dp-stop-iteration": "the script names a weight in other words",
    "driver-not-loaded": "the script goes on without a driver, the reader installs one",
    "embedding-index": "the script takes an index that the table has",
    "extension-build": "the script leaves out the fault that it has itself",
    "flash-attn-missing": "the script calls torch's attention itself, the fix is an argument of transformers",
    "host-oom-killed": "a limit that the script sets stands for docker's or Slurm's",
    "hostname-resolution": "the script shows it with env://, the fixes are torchrun's",
    "hub-unreachable": "the script fills the cache itself",
    "keys-differ-by-rank": "the script has numbers in the place of a model's losses",
    "local-rank-as-rank": "the script names the rank, the fix the GPU",
    "nccl-debug-left": "the fix has the variable's name from what was found",
    "nccl-variable-removed": "the fix has the variable's name from what was found",
    "nccl-variable-unknown": "the fix has the variable's name from what was found",
    "nccl-workaround-left": "the fix has the variable's name from what was found",
    "omp-threads": "the number of threads is this machine's",
    "pids-limit": "a limit that the script sets stands for docker's or Slurm's",
    "port-foreign-service": "the script takes another port by its number",
    "rank-out-of-range": "the script takes the launcher's number",
    "shm-leftovers": "the script deletes one file by its name",
    "shm-too-small": "the script makes the file system larger, the fixes are docker's",
    "torch-cpu-build": "the script goes on without a GPU, the reader installs another build",
    "torch-import-broken": "the script puts the missing library back, the reader installs torch again",
    "torch-missing": "the script takes the other interpreter by its path",
    "torch-shadowed": "the script gives its own file another name",
    "torchvision-mismatch": "the script copies the operators, the reader installs a pair",
    "variable-dangerous": "the fix has the variable's name from what was found",
    "variable-renamed": "the fix has the variable's name from what was found",
}
"""Reproductions whose ``fixed.py`` is none of the fixes that are printed, and why. This list only shrinks."""


def printed_fixes():
    """Every ``Fix(...)`` in the sources, a sample in each place, with its check's id."""
    for module in printed.modules():
        id = Path(module.where).stem.replace("_", "-")
        for scope, call in printed._calls(module.tree, None):
            values = dict(zip(["summary", "command", "kind"], call.args, strict=False))
            values |= {k.arg: k.value for k in call.keywords if k.arg}
            kept = {n: ast.literal_eval(values[n]) for n in ("proof", "source") if n in values}
            summaries = texts(values["summary"], module, scope)
            for command in texts(values["command"], module, scope) if "command" in values else [""]:
                yield id, Fix(summaries[0], printed.filled(command), Kind.COMMAND, **kept)


@functools.cache
def fixes():
    return list(printed_fixes())


def test_every_fix_says_what_is_known_of_it():
    assert len(fixes()) > 1100
    # A place for a whole command, a variable's name or a function's: what is put there is known by what it is.
    computed = re.compile(rf"{re.escape(UNREAD)}|\bNAME\b|\b4_4=|module\.\(")
    unknown = [
        (id, fix.summary, fix.command)
        for id, fix in fixes()
        if known(fix, id, REGISTRY) is None and not computed.search(fix.command)
    ]
    assert unknown == []


def test_what_is_said_to_look_changes_nothing():
    wrong = []
    for id, fix in fixes():
        what = known(fix, id, REGISTRY)
        if what is None or what.how is not How.LOOKS or UNREAD in fix.command:
            continue
        if fix.command.startswith(("print(", "assert ")):
            continue
        wrong += [
            (id, fix.summary, command.key)
            for command in shell.commands(fix.command)
            if command.key not in LOOKING | {"sudo", "srun"} and not command.python
        ]
    assert wrong == []


def test_no_entry_is_left_of_a_fix_that_is_gone():
    commands = [fix.command for _, fix in fixes()]
    for source in [*GROUNDS.documented, *GROUNDS.follows]:
        for pattern in source.commands:
            assert any(re.search(pattern, text, re.MULTILINE) for text in commands), pattern


def test_what_a_pattern_holds_stands_in_all_that_it_matches():
    patterns = [p for source in [*GROUNDS.documented, *GROUNDS.follows] for p in source.commands]
    assert sum(len(held(pattern)) >= 3 for pattern in patterns) > len(patterns) * 0.6
    commands = {fix.command for _, fix in fixes()}
    for pattern in patterns:
        text = held(pattern)
        missed = (c for c in commands if text not in c and re.search(pattern, c, re.MULTILINE))
        assert next(missed, None) is None, pattern
    assert held(r"colou?r \(x\) is off") == " is off"
    assert held(r"one|two") == held(r"(?i)one") == ""


def test_links_are_links_and_titles_are_there():
    for source in GROUNDS.documented:
        assert source.link.startswith("https://")
        assert source.title
    assert not any(source.link for source in GROUNDS.follows)


def halves_of(id):
    """The lines that a reproduction's fix adds, and how its ``fixed.py`` is run."""
    folder = REGISTRY.reproduction(id)
    added = [row[1:].strip() for row in difference(folder).splitlines()[2:] if row.startswith("+")]
    run = re.search(r"^# run: (.*)$", (folder / "fixed.py").read_text(), re.MULTILINE)
    return "\n".join(added), run[1] if run else ""


def test_what_a_fix_has_of_its_proof_is_what_the_reproduction_adds():
    proven = [(id, fix) for id, fix in fixes() if fix.proof]
    assert len(proven) >= 44
    for id, fix in proven:
        assert fix.proof in fix.command, (id, fix.proof)
        assert any(fix.proof in text for text in halves_of(id)), (id, fix.proof)


def test_every_reproduction_with_a_record_shows_a_fix_that_is_printed():
    shown = {id for id, fix in fixes() if fix.proof}
    assert {id for id in RECORDS if id not in shown and id not in SHOWN_BY_NO_FIX} == set()
    assert not shown & SHOWN_BY_NO_FIX.keys()


@pytest.mark.parametrize("id", RECORDS)
def test_a_record_is_of_the_scripts_as_they_are(id):
    record = proof_of(id, REGISTRY)
    assert record.held
    assert record.id == id
    assert record.symptom in record.error
    assert record.difference == difference(REGISTRY.reproduction(id)), "run it again: tests/proofs/record.py"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", record.date)
    assert record.device


def test_the_record_of_versions_is_of_reproductions_and_reaches_back_to_the_oldest():
    record = msgspec.json.decode(
        (ROOT / "checks/proofs/versions.json").read_bytes(), type=dict[str, dict[str, Halves]]
    )
    assert all(REGISTRY.reproduction(id) for id in record)
    versions = {version for ran in record.values() for version in ran}
    assert len(versions) >= 5
    assert any(version.startswith("2.0.") for version in versions)


def site(tmp_path, record=None):
    """A folder of a site's own checks with one reproduction's record."""
    (tmp_path / "mine.py").write_text('"""Mine."""\n')
    if record is not None:
        (tmp_path / "proofs").mkdir()
        (tmp_path / "proofs/mine.json").write_bytes(msgspec.json.encode(record))
    return Registry((tmp_path,))


HELD = Proof(
    id="mine",
    broken=ProofStatus.FAILED_AS_EXPECTED,
    fixed=ProofStatus.PASSED,
    torch="2.15.0",
    device="CPU",
    date="2026-11-22",
)


def test_a_fix_is_seen_to_work_where_its_proof_has_a_record(tmp_path):
    fix = Fix("Do it", "do --it", proof="--it")
    what = known(fix, "mine", site(tmp_path, HELD))
    assert (what.how, what.by) == (How.SEEN, "torch 2.15.0 on the CPU")


def test_a_record_that_did_not_hold_proves_nothing(tmp_path):
    registry = site(tmp_path, msgspec.structs.replace(HELD, fixed=ProofStatus.FAILED))
    assert seen_on("mine", registry) == ""
    assert known(Fix("Do it", "do --it", proof="--it"), "mine", registry) is None


def test_what_a_proof_was_shown_on_is_named_with_it(tmp_path):
    registry = site(tmp_path, msgspec.structs.replace(HELD, shown_on="simulated devices"))
    assert seen_on("mine", registry) == "torch 2.15.0 on the CPU and simulated devices"


@pytest.mark.parametrize(
    ("fix", "how", "link"),
    [
        (Fix("A", "a", source="https://github.com/pytorch/pytorch/issues/1"), How.REPORTED, "issues/1"),
        (Fix("A", "a", source="https://docs.pytorch.org/docs/stable/a.html"), How.DOCUMENTED, "a.html"),
        (Fix("Start it", "torchrun --standalone train.py"), How.DOCUMENTED, "elastic/run.html"),
        (Fix("See who", "nvidia-smi"), How.LOOKS, ""),
        (Fix("Clean the cable"), How.FOLLOWS, ""),
        (Fix("Restart", "sudo reboot"), How.FOLLOWS, ""),
    ],
)
def test_what_is_known_of_a_fix(fix, how, link):
    what = known(fix, "port-in-use", REGISTRY)
    assert what.how is how
    assert what.link.endswith(link)


def test_marks_are_explained_once_and_only_those_that_are_there():
    told = [
        Fix("A", known=known(fix, "port-in-use", REGISTRY)) for fix in (Fix("See", "ls"), Fix("B"), Fix("C"))
    ]
    assert [mark(fix) for fix in told] == [" [looks]", " [plain]", " [plain]"]
    assert legend(told).count("[plain]") == 1
    assert "[seen]" not in legend(told)
    assert mark(Fix("A")) == legend([Fix("A")]) == ""


def test_the_sentence_has_the_link():
    what = known(Fix("Start it", "torchrun --standalone train.py"), "none", REGISTRY)
    assert sentence(what) == (
        "From the documentation: [torchrun](https://docs.pytorch.org/docs/stable/elastic/run.html)."
    )


CHANGES = re.compile(
    r"nvidia-smi\b(?! dmon)[^;|&]*\s(?:--(?:persistence-mode|compute-mode|gpu-reset)|"
    r"-(?:pm|c|rgc|rac|lgc|ac|pl|dm|mig|r|srs))\b|download=True|gpudoctor report\b.* -o\b"
)
"""What sets something on a GPU, or writes a file."""


def test_what_sets_something_is_not_said_to_look():
    assert CHANGES.search("sudo nvidia-smi -i 0 --compute-mode=DEFAULT")
    assert not CHANGES.search("nvidia-smi -q -d CLOCK,PERFORMANCE")
    setting = [(id, fix) for id, fix in fixes() if CHANGES.search(fix.command)]
    assert len(setting) > 20
    looks = [(id, fix.command) for id, fix in setting if known(fix, id, REGISTRY).how is How.LOOKS]
    assert looks == []


@pytest.mark.parametrize(
    ("command", "kind", "named", "said"),
    [
        ("x = x.contiguous()", Kind.EDIT, "python", " (in your code)"),
        ("def train(rank): ...", Kind.EDIT, "python", " (in your code)"),
        ("resources: {limits: {cpu: 8}}", Kind.EDIT, "yaml", ""),
        ('"train_batch_size": "auto"', Kind.EDIT, "json", ""),
        ("#SBATCH --signal=B:USR1@120", Kind.EDIT, "sh", ""),
        ("--tensor-model-parallel-size 4", Kind.EDIT, "sh", ""),
        ("model = torch.compile(model)", Kind.MITIGATION, "python", " (hides the fault)"),
        ("export NCCL_P2P_DISABLE=1", Kind.MITIGATION, "sh", " (hides the fault)"),
        ("unset LD_PRELOAD", Kind.COMMAND, "sh", ""),
    ],
)
def test_the_language_of_a_fix(command, kind, named, said):
    fix = Fix("do it", command, kind)
    assert (language(fix), besides(fix)) == (named, said)
