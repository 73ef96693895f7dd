"""Lists of words: what is public and what is private by its mere name, and what an earlier redaction left."""

import re
from collections.abc import Iterator

from gpudoctor.patterns import late_pattern

__all__ = [
    "ALIAS",
    "COLOUR",
    "HIDDEN",
    "aliases",
    "file_name",
    "generic",
    "host_key",
    "public_host",
    "public_owner",
    "secret_key",
    "serial_key",
    "user_key",
]

HIDDEN = "(hidden)"

# What a redaction leaves behind. It must be recognised, for a redacted text is redacted again when a saved
# report is examined and saved once more.
ALIAS = late_pattern(
    r"(?<![A-Za-z0-9])(?<![A-Za-z0-9][-_.])"  # gpu-host-9 is somebody's own name
    r"(?:gpu-uuid|host|user|ip|mac|path|token|email|serial|project)-\d{1,6}(?![A-Za-z0-9]|-\d|-[0-9a-f]{4})"
    r"|(?<![A-Za-z0-9])(?<![A-Za-z0-9][-_.])host-\[\d{1,6}(?:-\d{1,6})?(?:,\d{1,6}(?:-\d{1,6})?){0,4096}\]"
    r"|\(hidden\)"
)
COLOUR = late_pattern(r"\x1b\[[0-9;]{0,16}[A-Za-z]")
_ALIAS_STARTS = (
    "host-",
    "uuid-",
    "user-",
    "ip-",
    "mac-",
    "path-",
    "token-",
    "email-",
    "serial-",
    "project-",
    "(hidden)",
)
# Names of users and hosts that say nothing about anyone, or that are words of the trade: replacing them
# wherever they stand would ruin the report. They are replaced in paths, and (hosts) as a whole value.
_GENERIC = frozenset(
    """
    account adm admin administrator alpine amd anaconda ansible app apps auto azureuser backend backup
    base bash batch bench bin bios bool boot broadcast broken bucket buffer build cache cause centos check
    checkpoint checks child client cloud cluster code coder codespace command compile compute conda config
    consequence console container controller core cpu crashed created cuda cudnn current daemon data
    dataset date dcgm ddp debian debug deepspeed default demo deploy desktop dev develop developer device
    devices dist distributed docker down driver ec2-user edit email engine env environment epoch error
    eth0 eval event evidence example fabric facts failed false fatal fedora file files finding findings
    fix fixed float folder found fsdp function gateway gdm git github gitlab gitlab-runner gloo gpu gpus
    group guest half hardware head header healthy hidden home host hostname hosts http https image
    infiniband info init input install int intel internal ip jax jenkins job jovyan jupyter kernel key
    keys kubernetes lab label laptop launch layer length lib library lightning line linux list load local
    localdomain localhost localhost.localdomain log login logs loss mac machine main mambauser manager
    mask master math max mean megatron memory message metal micro min mini mitigation mlx model models
    module mount mpi mpirun name nccl net network next nobody node nodes none note null numa numpy nvidia
    nvlink nvml nvsmi offline ok online opc open operator ops opt option output owner package packages
    page parallel param parent passed password path pci peer pip placement port postgres primary probes
    proc process processes prod program project proof proofs proxy public py pypi python python3 pytorch
    query queue rank ranks ray rdma reader ready reason receive report reproduction request research
    result rocky rocm role root router run runner sample save schema scratch script seconds secret self
    send sep serial server service session setup severity shared shell single size skipped sl slurm socket
    source src staff start state status step storage stream string student sum summary support suspect
    sync sys system systemd task team temp tensor test tester testing thread time timeout title tmp token
    tool tools torch torchrun total trace train trainer training triton true type ubuntu unknown unset up
    user username users usr utils uuid vagrant val valid value values var venv verdict version video view
    virtual vision vllm vm vscode wandb warn warning web weight weights wheel where windows work worker
    workers workspace world www www-data x86_64 xla yes
    """.split()
)

# Registered domains whose URLs a maintainer wants to read and that belong to nobody's cluster.
_PUBLIC_HOSTS = frozenset(
    """
    pytorch.org astral.sh github.com githubusercontent.com github.io gitlab.com nvidia.com nvcr.io
    python.org readthedocs.io readthedocs.org anaconda.org anaconda.com conda.io
    conda-forge.org huggingface.co hf.co wandb.ai docker.com docker.io ghcr.io quay.io stackoverflow.com
    stackexchange.com kernel.org ubuntu.com debian.org amd.com intel.com lightning.ai deepspeed.ai arxiv.org
    pypi.org pythonhosted.org wandb.com wandb.me ray.io comet.com mlflow.org google.com numpy.org scipy.org llvm.org
    tensorflow.org openai.com mozilla.org cloudflare.com archlinux.org oracle.com arm.com scikit-learn.org
    kubernetes.io apache.org open-mpi.org schedmd.com w3.org json-schema.org microsoft.com googleapis.com
    gnu.org wikipedia.org
    """.split()
)

# Who publishes models and code that everybody uses: their names say nothing about who trains.
_PUBLIC_OWNERS = frozenset(
    """
    ai2 allenai alibaba-nlp apache apple baai bert bigcode bigscience black-forest-labs cohereforai compvis databricks
    deepmind deepseek-ai docs eleutherai facebook facebookresearch google google-bert google-t5 hf-internal-testing
    huggingface huggingfaceh4 huggyllama ibm-granite intel internlm laion lightning-ai lmsys meta-llama microsoft
    mistralai moonshotai mosaicml nousresearch nvidia openai openai-community openbmb openlm-research pytorch qwen
    runwayml salesforce sentence-transformers site stabilityai state-spaces stanford-crfm tatsu-lab teknium thudm
    tiiuae timm togethercomputer transformers unsloth vllm-project xai-org zai-org 01-ai settings authorize blog papers
    """.split()
)

_FILE_ENDINGS = frozenset(
    """
    a arrow bash bat bin c cc cfg ckpt conf cpp csv cu cuh dat db dll dump env err exe gz h h5 hpp html
    ini ipynb j2 jpg json jsonl lock log md npy npz o onnx out parquet pdf pickle pid pkl png prof ps1 pt
    pth py pyc pyd pyi pyx qdrep qdstrm rst safetensors sbatch service sh slurm so sock sqlite srun tar
    tgz toml trace tsv txt whl xml yaml yml zip
    """.split()
)
_SHARED_OBJECT = late_pattern(r"\.so(?:\.\d+)*\Z")

_HOST_KEYS = frozenset(
    """
    fqdn host host_name hostname hosts lsb_hosts master_addr node node_name nodelist nodename pbs_o_host
    pet_rdzv_endpoint rdzv_endpoint slurm_job_nodelist slurm_launch_node_ipaddr slurm_nodelist
    slurm_srun_comm_host slurm_step_nodelist slurm_submit_host slurm_topology_addr slurmd_nodename
    """.split()
)
_USER_KEYS = frozenset("user users username user_name logname slurm_job_user sudo_user nb_user login".split())

_KEY_WORD = late_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SECRET_PART = late_pattern(r"passw|passphrase|secret|credential|api[_-]?key|authorization", re.IGNORECASE)
# The tokens of a tokenizer are no secrets, and training logs are full of them.
_MODEL_TOKENS = frozenset(
    """
    added additional audio bos boi cls decoder end eoi eos eot first image last mask max min new next num
    number pad per prompt sep special start stop tool type unexpected unk video
    """.split()
)
_AFTER_TOKEN = frozenset("count embedding id ids index len length mask num size type types usage".split())


def aliases(text: str) -> Iterator[re.Match[str]]:
    """Find what an earlier redaction left."""
    # most texts hold none, and a search for a plain string is far faster than one for a pattern
    return ALIAS.finditer(text) if any(start in text for start in _ALIAS_STARTS) else iter(())


def generic(name: str) -> bool:
    """Return whether a user or host name is too common, too short or too numeric to be searched in free text."""
    return len(name) < 3 or name.isdigit() or name.casefold() in _GENERIC


def public_host(name: str) -> bool:
    """Return whether a host of a URL is a public site."""
    labels = name.casefold().rstrip(".").split(".")
    if labels[0] == "storage":  # what lies there is somebody's
        return False
    return any(".".join(labels[i:]) in _PUBLIC_HOSTS for i in range(max(len(labels) - 3, 0), len(labels)))


def public_owner(name: str) -> bool:
    """Return whether the owner of a repository is one whom everybody knows, or no owner at all but a page."""
    return name.casefold() in _PUBLIC_OWNERS


def file_name(name: str) -> bool:
    """Return whether the last part of a path is a file by its ending, and no folder."""
    stem, dot, ending = name.rpartition(".")
    return bool(dot and stem) and (
        ending.casefold() in _FILE_ENDINGS or _SHARED_OBJECT.search(name) is not None
    )


def secret_key(key: str) -> bool:
    """Return whether what is stored under this name is a secret: `HF_TOKEN` is, `pad_token` is none."""
    if len(key) > 128:
        return False
    key = ALIAS.sub("", key)
    if _SECRET_PART.search(key):
        return True
    words = [word.lower() for word in _KEY_WORD.findall(key)]
    for at, word in enumerate(words):
        if word == "key" and at > 0:
            return True
        if word.endswith("token"):
            before = words[at - 1] if at else ""
            after = words[at + 1] if at + 1 < len(words) else ""
            if before not in _MODEL_TOKENS and after not in _AFTER_TOKEN:
                return True
    return False


def host_key(key: str) -> bool:
    """Return whether a host name is stored under this name."""
    return key.casefold().replace("-", "_") in _HOST_KEYS


def user_key(key: str) -> bool:
    """Return whether a user name is stored under this name."""
    return key.casefold().replace("-", "_") in _USER_KEYS


def serial_key(key: str) -> bool:
    """Return whether a number that identifies one machine or one board is stored under this name."""
    words = [word.lower() for word in _KEY_WORD.findall(key[:128])]
    return "serial" in words or words in (["machine", "id"], ["product", "uuid"], ["boot", "id"])
