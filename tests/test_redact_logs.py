"""What a log holds is private: nothing of it comes through in what is piped or saved, and one name has one alias.

The files of private_logs hold logs of every launcher, one behind the other, with places such as ``<host>`` that get a
private word of their own. The forms are those that launchers, NCCL, c10d, schedulers, shells and loggers print.
"""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from gpudoctor.cli.output import Output
from gpudoctor.logs.explain import explain
from gpudoctor.redact import Private, Redactor
from gpudoctor.redact.name_forms import machine_name, names_told
from gpudoctor.registry import Registry
from gpudoctor.render.terminal import render
from gpudoctor.report import Report
from tests.processor_time import within
from tests.warm_python import warm_environment, warm_gpudoctor

FOLDER = Path(__file__).parent / "private_logs"
LOG = re.compile(r"^##### (\w+)\n", re.MULTILINE)

PLACE = re.compile(r"<(host|user|mail|site|folder|token|ip|pod)(\d?)>")
HOSTS = (
    "gpunode{:02}",
    "dgx-a100-{:02}",
    "cn{:04}",
    "r07u{:02}",
    "trn-{:03}",
    "hpc{:03}g4",
    "quasar{}",
    "bluefin-{}",
    "n{:03}ib",
)
OTHER_HOSTS = (
    "p4de-{:03}",
    "kraken{}",
    "c{:02}b07n02",
    "sxm{:03}",
    "node-{:03}x",
    "ml-train-{:02}",
    "zephyr",
    "orca-gpu{}",
    "juwels{:02}i",
)
USERS = (
    "jdoe mkowalski anowak hschmidt twatanabe ksingh lrossi pdupont ebjork fzhang rgarcia obrien7 svetlana chenwei"
    " nguyent iyer2 bakker jkim94 mlopez dpatel acohen yilmaz tfischer knguyen wsmith okafor hansenp vmurphy qliu"
    " gpapadakis"
).split()
SITES = (
    "acmecorp.com helios-labs.io northwind.ai cs.uni-arden.edu bigbank.co.uk hpc.larkspur.org zenrobotics.cn"
    " physik.tu-elbe.de vantage.tech corvid.net meridianbio.com oaktree.systems polaris.local quillon.lan"
).split()
FOLDERS = (
    "secret_llm falcon-next medimg-v3 projectx42 drugdisc voicegen blackbird churn_model earnings-nlp sat-seg"
    " protfold9 chatbot_de lidar-fusion adrank tradingrl skunkworks mri-recon genomics_eu unicornlm patentqa"
).split()


class Planted(NamedTuple):
    """One log, and the private words in it."""

    launcher: str
    text: str
    words: dict[str, str]
    """By their places, such as ``host2``."""


def planted(file: str, seed: int) -> Iterator[Planted]:
    """Put private words into the logs of a file, each log other ones; `seed` chooses which."""
    pieces = LOG.split((FOLDER / file).read_text())[1:]
    logs = list(zip(pieces[::2], pieces[1::2], strict=True))
    hosts = OTHER_HOSTS if seed % 2 else HOSTS
    number = 3 + 131 * seed
    for at, (launcher, text) in enumerate(logs):
        words: dict[str, str] = {}
        for match in PLACE.finditer(text):
            place, kind = match[0][1:-1], match[1]
            if place not in words:
                number += 1
                words[place] = _word(kind, number, at + 5 * seed, hosts)
        yield Planted(launcher, PLACE.sub(lambda m: words[m[0][1:-1]], text), words)


def _word(kind: str, number: int, at: int, hosts: tuple[str, ...]) -> str:
    user, other = USERS[number % len(USERS)], USERS[(number * 7 + 3) % len(USERS)]
    if kind == "host":
        return hosts[number % len(hosts)].format(number)
    if kind == "user":
        return user + str(number)
    if kind == "mail":
        return f"{other}.{number}@{SITES[at % len(SITES)]}"
    if kind == "site":
        return SITES[at % len(SITES)]
    if kind == "folder":
        return f"{FOLDERS[number % len(FOLDERS)]}{number}"
    if kind == "token":
        return f"hf_{'QxWvTrPzKm' * 3}{number:04}"
    if kind == "ip":
        return f"10.{number % 250}.{at + 3}.{(number * 3) % 250}"
    assert kind == "pod", kind
    return f"{FOLDERS[number % len(FOLDERS)].replace('_', '-')}-{number}-worker-{at}"


SETS = [("first.txt", 0), ("second.txt", 1), ("first.txt", 2), ("second.txt", 3), ("third.txt", 5)]
LOGS = [log for file, seed in SETS for log in planted(file, seed)]
FORMS = ("terminal", "markdown", "json")
REGISTRY = Registry.of(())
ALIAS = re.compile(r"\b(?:host|user|email|path|ip|token)-\d+")


def written(report: Report, form: str, *, redact: bool = True) -> str:
    return Output(redact=redact).text(report, render, form)


def left(text: str, log: Planted) -> list[str]:
    return [word for word in log.words.values() if word.lower() in text.lower()]


def test_hundreds_of_words_are_planted_and_most_are_quoted() -> None:
    words = {word for log in LOGS for word in log.words.values()}
    quoted = sum(
        len(left(written(explain(log.text, checks=REGISTRY), "json", redact=False), log)) for log in LOGS
    )
    assert len(words) > 300
    assert quoted > 200
    assert {log.launcher for log in LOGS} >= {
        "torchrun", "slurm", "deepspeed", "accelerate", "mpirun", "ray", "kubernetes", "spawn", "python", "lightning"
    }  # fmt: skip


@pytest.mark.parametrize("number", range(len(LOGS)))
def test_no_planted_word_is_in_what_is_piped_or_saved(number: int) -> None:
    log = LOGS[number]
    report = explain(log.text, checks=REGISTRY)
    for form in FORMS:
        assert left(written(report, form), log) == []


def test_a_redacted_report_has_the_same_findings_in_the_same_order() -> None:
    for log in LOGS:
        report = explain(log.text, checks=REGISTRY)
        own, made = (
            json.loads(written(report, "json", redact=redact))["findings"] for redact in (False, True)
        )
        assert [f["id"] for f in own] == [f["id"] for f in made]
        assert [len(f["evidence"]) for f in own] == [len(f["evidence"]) for f in made]


@pytest.mark.parametrize(
    "line",
    [
        "DistNetworkError: The client socket has timed out after 600000ms while trying to connect to (quasar, 29500).",
        "DistNetworkError: The client socket has failed to connect to [quasar.acme.com]:29500 (errno: 110 - timed out)",
    ],
)
def test_a_host_has_one_alias_in_message_evidence_and_fixes(line: str) -> None:
    (finding,) = json.loads(written(explain(line), "json"))["findings"]
    assert "host-1" in finding["message"]
    assert "host-1" in finding["evidence"][0]["text"]
    assert any("host-1" in fix["command"] for fix in finding["fixes"])
    assert set(ALIAS.findall(json.dumps(finding))) == {"host-1"}


def test_a_name_that_another_line_tells_is_an_alias_where_it_is_quoted() -> None:
    text = "quasar:4242:4300 [0] NCCL INFO Bootstrap : Using eth0\nRuntimeError: quasar is busy, and quasar only\n"
    report = json.loads(written(explain(text), "json"))
    assert "host-1 is busy, and host-1 only" in report["findings"][0]["message"]
    assert report["facts"]["log"]["hosts"] == ["host-1"]


def test_hosts_that_no_finding_speaks_of_are_not_listed() -> None:
    report = explain(
        "srun: error: quasar: task 3: Exited with exit code 1\nRuntimeError: boom\n", checks=REGISTRY
    )
    said = written(report, "json", redact=False)
    assert ("quasar" in said.replace('"hosts"', "")) == bool(json.loads(said)["facts"]["log"]["hosts"])


@pytest.mark.parametrize(
    "line",
    """
RuntimeError: wait timeout after 1800000ms, keys: /default_pg/0//cpu//0/0
DistStoreError: key /worker/3 and key default_pg/0//cuda//0 and /0//cuda//ncclUniqueId:0:p2p:0:1
store->get('/torch.rendezvous.42.0/worker/rank/0') /none/torchelastic/role_info/0 store_based_barrier_key:1
torch.nn.modules.module.io torch.distributed.rpc.internal self.cfg.model.io np.float128 ProcessGroupNCCL.cpp:1970
hostname=socket.gethostname() hostname = platform.node() node = self.node host=host, --master_addr to use
running on cuda:0, on rank 3, on gpu0, on node 3, running on fp16, on device cuda0, trained on imagenet2012 (small)
User: this is deprecated; for user code, by user specified hooks, of user objects
[rank0]:[W1120 10:00:00.1 socket.cpp:752] [rank3]: [default1]: [trainer.py:1234] [utils:123] loss at step:12000
https://huggingface.co/meta-llama/Llama-3-8B https://huggingface.co/docs/transformers s at example.py:2000
""".strip().splitlines(),
)
def test_words_of_torch_and_of_code_are_no_names(line: str) -> None:
    report = explain(f"RuntimeError: {line}", checks=REGISTRY)
    own, made = (json.loads(written(report, "json", redact=redact)) for redact in (False, True))
    assert own["findings"][0]["message"] == made["findings"][0]["message"]


@pytest.mark.parametrize(
    "name", ["gpu-node-17", "cn1043", "n12a", "dgx-a100-03", "p4de-003", "node01", "x9.acme.com"]
)
def test_names_of_machines(name: str) -> None:
    assert machine_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "cuda0",
        "rank3",
        "fp16",
        "bf16",
        "eth0",
        "mlx5_0",
        "h100",
        "step120",
        "train.py",
        "v1.2.3",
        "worker",
        "0x1f",
    ],
)
def test_words_with_figures_that_are_no_machines(name: str) -> None:
    assert not machine_name(name)


@pytest.mark.parametrize(
    "piece", ["a:1234", " on a1", "host a", "user ", "a.b.com", ": [rank", "srun -w", "[a:1234]"]
)
def test_names_are_looked_for_in_linear_time(piece: str) -> None:
    with within(5):
        names_told(piece * (300_000 // len(piece)), lambda kind, name: None)


# --- as a user meets it --------------------------------------------------------------------------------------


def gpudoctor(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [*warm_gpudoctor(), *arguments]
    environment = {**os.environ, **warm_environment()}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder, env=environment)


@pytest.mark.parametrize("number", [2, 7])
def test_explain_run_and_report_give_nothing_away(number: int, tmp_path: Path) -> None:
    log = LOGS[number]
    (tmp_path / "train.log").write_text(log.text)
    explained = gpudoctor("explain", "train.log", "-o", "ticket.md", folder=tmp_path)
    as_json = gpudoctor("explain", "--json", "train.log", folder=tmp_path)
    ran = gpudoctor("run", "-o", "run.json", "--", "sh", "-c", "cat train.log >&2; exit 3", folder=tmp_path)
    gpudoctor("report", "--log", "train.log", "-o", "report.md", folder=tmp_path)
    # what the command itself printed is its own, and comes first
    told = ran.stderr.removeprefix(log.text)
    assert told != ran.stderr
    saved = [(tmp_path / name).read_text() for name in ("ticket.md", "run.json", "report.md")]
    for text in (explained.stdout, explained.stderr, as_json.stdout, told, *saved):
        assert left(text, log) == []
    assert "host-1" in explained.stdout
    assert "host-1" in told


FORMS_OF_OTHERS = r"""
JobId=7 JobName=harebell-2 UserId=otto(77) Account=sorrel_lab Partition=bryony ## harebell-2 sorrel_lab bryony
sbatch --account=sorrel_lab --partition=bryony --job-name=harebell-2 fit.sh ## harebell-2 sorrel_lab bryony
+ srun -A sorrel7 -p bryony -J harebell python fit.py ## sorrel7 bryony harebell
SLURM_JOB_ACCOUNT=sorrel_lab SLURM_CLUSTER_NAME=yarrow ## sorrel_lab yarrow
Namespace:        team-tansy3 ## team-tansy3
PyTorchJob tansy-ns/comfrey-fit has failed ## tansy-ns comfrey-fit
job teasel-9 submitted by bramley7 waits ## teasel-9 bramley7
{"run_name": "teasel-sweep", "project_id": "burdock-88"} ## teasel-sweep burdock-88
wandb: View run mellow-fern-7 at: https://wandb.ai/fernworks/moss/runs/a1 ## mellow-fern-7 fernworks
open https://app.neptune.ai/fernworks/moss-asr/e/M-1 ## fernworks moss-asr
pull access denied for depot.fernworks.dev/bracken/lichen-fit, it does not exist ## fernworks bracken lichen-fit
docker run --gpus all -h sphagnum-4 bracken/lichen:latest ## sphagnum-4 bracken/lichen
['git', 'clone', 'https://git.fernworks.dev/bracken/lichen-net.git'] ## fernworks bracken lichen-net
ssh://git@code.fernworks.dev:7999/bracken/lichen-net.git ## fernworks bracken lichen-net
arn:aws:iam::119988776655:user/rushbot on arn:aws:s3:::sedge-w/liverwort/a.pt ## 119988776655 rushbot sedge-w liverwort
403 GET https://storage.googleapis.com/storage/v1/b/sedge-data/o?prefix=liverwort ## sedge-data liverwort
KUBERNETES_NODE_NAME=reedsedge ## reedsedge
{"level":"error","host":"stitchwort-04","msg":"gone"} ## stitchwort-04
COMPUTERNAME=REEDMACE-PC USERDOMAIN=BULRUSH ## reedmace-pc bulrush
{"labels": {"node_name": "gke-sedge-a2"}} ## gke-sedge-a2
bind failed: uid=hornwort,ou=People-Moss,dc=quillwort,dc=org ## hornwort people-moss quillwort
Author: Ottoline Vetch <o.vetch@fernworks.dev> ## ottoline vetch
Command '['fit', '--hub_token', 'reedbunting']' returned 1 ## reedbunting
    Serial Number                         : 1650099887766 ## 1650099887766
"""


@pytest.mark.parametrize("row", FORMS_OF_OTHERS.strip("\n").splitlines())
def test_names_in_forms_of_schedulers_registries_clouds_and_directories(row: str) -> None:
    line, _, private = row.partition(" ## ")
    redacted = Redactor(Private()).text(line).lower()
    assert [word for word in private.split() if word in redacted] == []


@pytest.mark.parametrize(
    "line",
    [
        "sbatch --partition=gpu --account=research --job-name=pretrain fit.sh",
        "docker run --gpus all nvcr.io/nvidia/pytorch:24.01-py3 python train.py",
        "docker run pytorch/pytorch:latest python -c 'import torch'",
        "https://github.com/pytorch/pytorch.git is cloned; Image: pytorch/torchserve",
        "RuntimeError: uid=3 in namespace torch.ops, job 4 of 8, run 3 at: step 7",
    ],
)
def test_words_that_name_nobody_stay(line: str) -> None:
    assert Redactor(Private()).text(line) == line


def test_paths_of_a_drive_and_of_another_machine_in_one_text() -> None:
    text = "File \"E:\\proj\\moss\\fit.py\", line 3\nNo such file: '\\\\\\\\NAS7\\\\teasel\\\\a.bin'\nend\n"
    redacted = Redactor(Private()).text(text)
    assert "moss" not in redacted
    assert "teasel" not in redacted
    assert len(redacted.split("\n")) == 4


def test_what_other_lines_tell_of_an_account_or_a_serial_number_is_an_alias_in_a_finding() -> None:
    text = (
        "SLURM_JOB_ACCOUNT=sorrel_lab\n    Serial Number       : 1650099887766\n"
        "RuntimeError: sorrel_lab has no board 1650099887766\n"
    )
    said = written(explain(text), "json")
    assert "sorrel_lab" not in said
    assert "1650099887766" not in said
    assert "project-1 has no board serial-1" in said
