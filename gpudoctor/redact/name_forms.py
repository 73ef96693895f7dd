"""What a text tells of names by its form: hosts, users, repositories, serial numbers.

Launchers, schedulers, NCCL, c10d and shells print names in forms of their own. Some forms are sure (`srun: error: NAME:
task 3`); in others (`on NAME`) ordinary words stand too, and only what looks like a machine's name is taken.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from gpudoctor.pattern_cache import compiled
from gpudoctor.patterns import late_pattern
from gpudoctor.redact.identifiers import AT, DOMAIN, before, login, urls
from gpudoctor.redact.word_lists import (
    file_name,
    generic,
    host_key,
    public_host,
    public_owner,
    serial_key,
    user_key,
)

__all__ = ["machine_name", "names_told", "names_under"]

Tell = Callable[[str, str], None]

_NAME = r"[A-Za-z0-9][\w.-]{1,252}"
_LETTER_NAME = r"[A-Za-z][\w.-]{1,252}"
_NAMES = r"[A-Za-z0-9][\w.,:\[\]-]{1,1024}"
_VALUE = r"(?![\w.]{1,252}[(\[{]|(?:self|args|cfg|config|opt|os)\.)"
"""In front of a value, and not of a call or an expression in a line of code."""
_PERSON = r"[A-Za-z][\w.-]{1,63}"


class _Form(NamedTuple):
    """A form in which names are told."""

    kind: str
    signs: tuple[str, ...]
    """A line without any of these is not searched."""
    pattern: str
    """Compiled when a line has a sign: few logs have more than three, and all of them take 17 ms."""
    sure: bool
    """Whether any word in this place is a name."""


def _form(kind: str, signs: str, pattern: str, *, sure: bool = True) -> _Form:
    return _Form(kind, tuple(signs.split("|")), pattern, sure)


_FORMS = (
    # torchrun's summary
    _form("host", "host", rf"(?:^|\]:?)[ \t]{{1,16}}host[ \t]{{2,16}}: ({_NAME})[ \t]{{0,8}}$"),
    # c10d and gloo
    _form("host", "]:", rf"(?:\[(?:(?<=to \[)|(?<=on \[)|(?<=at \[)|(?<=from \[)|(?<==\[)|(?<=er \[)))({_NAME})\]:\d"),
    _form("host", "of (|connect to (", rf"(?:addresse?s? of|connect to) \(({_NAME}), \d{{1,5}}\)"),
    _form("host", "ode '", rf"[Nn]ode '({_NAME}?)_\d{{1,10}}_\d{{1,6}}'"),
    _form("host", "<", rf"(?:peer|to|from) ({_LETTER_NAME})<\d{{1,5}}>"),
    # Slurm
    _form("host", "srun: error: ", rf"srun: error: ({_NAMES}): task"),
    _form("host", " CANCELLED", rf" ON ({_NAMES}) CANCELLED"),
    _form("host", "slurmstepd-", rf"slurmstepd-({_NAME}?): "),
    _form("host", "ode failure on ", rf"ode failure on ({_NAMES})"),
    _form("host", "odes|odeList|ost", rf"\b(?:NodeList|ReqNodeList|BatchHost|AllocNode:Sid|Nodes)=({_NAMES})"),
    _form("host", "--nodelist|pdsh |srun |sbatch |salloc |mpirun |mpiexec |horovodrun |deepspeed ",
        rf"(?:--nodelist|\b(?:pdsh|srun|sbatch|salloc|mpirun|mpiexec|horovodrun|deepspeed) .{{0,400}}? (?:-w|--hosts?|-H|--include))[ =]({_NAMES})"),
    _form("host", "are ready for job", rf"Nodes ({_NAMES}) are ready for job"),
    # pdsh, DeepSpeed, mpirun
    _form("host", "following workers: ", rf"following workers: ({_NAMES})"),
    _form("host", "': [", rf"'({_NAME})': \[\d", sure=False),
    _form("host", " slots", rf"^({_NAME}) slots ?= ?\d"),
    _form("host", "host '", rf"\bhost '({_NAME})'"),
    _form("host", "pdsh@", rf"pdsh@({_NAME}): ({_NAME}): "),
    _form("host", ": [rank|: [default|: [20|: Traceback |: ssh: |:   File ", rf"^({_LETTER_NAME}): (?:\[(?:rank|default|20\d\d-)|Traceback |ssh: |  File )", sure=False),
    _form("host", " ***", rf"^\[({_NAME}):\d{{1,8}}\] \*\*\*"),
    _form("host", " on node ", rf" on node ({_NAME})(?: exited|\.?[ \t]{{0,8}}$)"),
    # Ray, Kubernetes
    _form("host", "ode ", rf"\b[Nn]ode ({_LETTER_NAME}) (?:left|died|has been|was marked|is down|failed)"),
    _form("host", "ip=", rf"\bip=({_NAME})"),
    _form("host", "pod/", rf"\bpod/({_NAME})"),
    _form("host", "pod |pod: |Pod |Pod: |pod \"|pod '", rf"\b[Pp]od:? [\"']?({_LETTER_NAME})", sure=False),
    _form("host", "Name:  ", rf"^Name:[ ]{{2,40}}({_NAME})$", sure=False),
    _form("host", "Node: ", rf"^Node:[ ]{{1,40}}({_NAME})/\d"),
    # shells, the kernel, loggers
    _form("host", "ssh: ", rf"ssh: (?:connect to host|Could not resolve hostname) ({_NAME})"),
    _form("host", " kernel: ", rf"\d\d:\d\d:\d\d\S{{0,16}} ({_NAME}) kernel: "),
    _form("host", "]: ", rf"^[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d ({_NAME}) [\w./-]{{1,64}}\[\d{{1,10}}\]: "),
    _form("host", "Linux ", rf"\bLinux ({_NAME}) \d{{1,3}}\.\d{{1,3}}\.\d{{1,3}}\S{{0,64}} #"),
    _form("host", "ip-", r"(?<![\w.-])(ip(?:-\d{1,3}){4}(?:\.[a-z][\w-]{1,62}){0,8})(?![\w-])"),
    _form(
        "host",
        "ostname|ost name|odename|ode name|ode_name|ocal host|emote host|eer host",
        rf"(?i)\b(?:(?:host|node)[ _]?name|(?:local|remote|peer) host)[\"']?[ \t]{{0,8}}[:=][ \t]{{0,24}}[\"']?{_VALUE}({_NAME})",
    ),
    _form(
        "host",
        'ost |ost: |ost=|ost"|ode |ode: |ode=|ode"|achine |achine: |unning on|xecuting on|tarted on|aunched on|ob on ',
        rf"(?i)\b(?:host|node|machine|(?:running|executing|executed|started|launched|job) on(?: host| node)?)"
        rf"[\"']?[ :=]{{1,3}}[\"']?({_LETTER_NAME})",
        sure=False,
    ),
    _form("host", " on ", rf" (?:out|died|killed|lost|mounted|submitted|hung|down|rebooted) on ({_LETTER_NAME})[.,;]?(?: \(|$)", sure=False),
    _form("site", "arn:aws", rf"\barn:aws[\w-]{{0,16}}:s3:::({_NAME})"),
    _form("site", "host=", rf"\bhost=[\"']({_NAME})[\"']"),
    # users
    _form("user", "/home/|sers/|sers\\", rf"(?:/home|/Users|:[\\/]{{1,2}}[Uu]sers)[\\/]{{1,2}}({_PERSON})(?=[\\/])"),
    _form("user", ":user/", rf"\barn:aws[\w-]{{0,16}}:iam::\d{{0,12}}:user/({_PERSON})"),
    _form("user", "uid=", r"\buid=\d{1,10}\(([^)\s]{1,64})\)"),
    _form("user", "ogged in as", rf"ogged in as:? ({_PERSON})(?: \(({_PERSON})\))?"),
    _form("user", "Accepted |Failed ", rf"(?:Accepted|Failed) \w{{1,32}} for (?:invalid user )?({_PERSON}) from "),
    _form("user", "user '|user \"", rf"\b[Uu]ser [\"']({_PERSON})[\"']"),
    _form("user", "of user ", rf"Session \w{{1,10}} of user ({_PERSON})"),
    _form("user", "user ", rf"\buser {_VALUE}((?=[\w.-]{{0,63}}\d)[a-z][\w.-]{{2,63}})"),
    _form("user", "ubmitted by|tarted by|wned by|unched by", rf"(?:ubmitted|tarted|wned|unched) by:? ({_PERSON})"),
    _form("user", "UserId=", rf"\bUserId=({_PERSON})\("),
    _form("user", "ser: |sername: |ser name: |wner: ", rf"^[ \t]{{0,16}}(?i:user(?: ?name)?|owner): {{1,24}}({_PERSON})[ \t]{{0,16}}$"),
    _form("user", "ser\"|ser=|ser'|sername", rf"(?i)\buser(?:name)?[\"']?[=:] ?[\"']({_PERSON})[\"']"),
    _form("user", "ser=", rf"\buser={_VALUE}((?=[\w.-]{{0,63}}\d)[a-z][\w.-]{{2,63}})"),
    # what belongs to somebody
    _form("repository", "git@", r"\bgit@(?!github\.com|gitlab\.com)[\w.-]{1,253}:([\w-]{1,64}/[\w.-]{1,96}?)(?:\.git\b|[\s'\"])"),
    _form("repository", "wandb.ai/", r"\bwandb\.ai/([\w-]{1,64}/[\w.-]{1,96})"),
    _form("repository", "huggingface.co/|hf.co/", r"\b(?:huggingface|hf)\.co/(?:api/)?(?:(?:models|datasets|spaces)/)?([\w-]{1,64}/[\w.-]{1,96})"),
    _form("repository", "is not a local folder|valid model identifier", r"^(?:\w+: )?'?([\w-]{1,64}/[\w.-]{1,96})'? is not a "),
    _form("repository", "neptune.ai/|comet.com/", r"\b(?:neptune\.ai|comet\.com)/(?:o/)?([\w-]{1,64}/[\w.-]{1,96})"),
    _form("repository", ".git", r"://(?:[^\s/@]{1,256}@)?(?!github\.com|gitlab\.com|huggingface\.co)[\w.-]{1,253}(?::\d{1,5})?/(?:[\w.-]{1,64}/){0,4}?([\w-]{1,64}/[\w.-]{1,96}?)\.git\b"),
    # images of containers
    _form("site", "denied for |mage", r"(?:access denied for|\b[Ii]mage:?) [\"']?((?=[\w.-]{0,253}\.)[\w.-]{1,253}(?::\d{1,5})?)/[\w-]"),
    _form("repository", "denied for |mage", r"(?:access denied for|\b[Ii]mage:?) [\"']?(?:[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}(?::\d{1,5})?/)?([\w-]{1,64}/[\w.-]{1,96})"),
    _form("repository", "docker run |podman run ", r"(?:docker|podman) run .{0,600}? ([a-z0-9][\w-]{1,63}/[\w.-]{1,96})(?=[: ]|$)"),
    _form("host", "docker run |podman run ", rf"(?:docker|podman) run .{{0,600}}? (?:-h|--hostname)[ =]({_NAME})"),
    # accounts, jobs, queues and name spaces of schedulers; names of runs
    _form("project", "Account=|JobName=|Partition=|ClusterName=", r"\b(?:Account|JobName|Partition|ClusterName)=([^\s,;]{3,64})"),
    _form("project", "--account|--partition|--job-name", r"--(?:account|partition|job-name)[= ]([^\s'\",]{3,64})"),
    _form("project", "srun |sbatch |salloc |#SBATCH ", r"(?<= )-[ApJ] ([A-Za-z][^\s'\",]{2,63})"),
    _form("project", "SLURM_|SBATCH_|PBS_", r"\b(?:SLURM_JOB_(?:ACCOUNT|NAME|PARTITION)|SLURM_CLUSTER_NAME|SBATCH_(?:ACCOUNT|PARTITION|JOB_NAME)|PBS_(?:JOBNAME|QUEUE|ACCOUNT))[\"']?[=:] ?[\"']?([^\s\"',]{3,64})"),
    _form("project", "amespace", r"\b[Nn]amespace[\"']?[:=]? {1,24}[\"']?((?=[\w-]{0,62}[-\d])[a-z0-9][a-z0-9-]{2,62})\b"),
    _form("project", "roject_id|rojectId|un_name|ob_name|xperiment_name", r"[\"'](?:project_id|projectId|run_name|job_name|job_id|experiment_name)[\"'] ?: ?[\"']([^\"'\s]{3,64})[\"']"),
    _form("project", " run ", r"(?:View|Syncing) run (\S{3,64})(?: at|$)"),
    _form("project", "ubmitted by", r"\bjob [\"']?((?=[\w-]{0,63}[A-Za-z])(?=[\w-]{0,63}\d)[\w-]{3,64})[\"']? submitted by"),
    _form("repository", "Job ", r"\b(?:PyTorchJob|MPIJob|TrainJob|RayJob|TFJob|JobSet) ([a-z0-9-]{1,63}/[a-z0-9.-]{1,96})"),
    _form("project", "job-name=", r"\bjob-name=([a-z0-9][a-z0-9.-]{2,62})"),
    _form("project", "arn:aws", r"\barn:aws[\w-]{0,16}:s3:::[\w.-]{1,63}/([\w-]{3,64})(?=/)"),
    _form("serial", "arn:aws", r"\barn:aws[\w-]{0,16}:[\w-]{1,32}:[\w-]{0,32}:(\d{12}):"),
    # directories of people
    _form("user", "dc=", r"\b(?:uid|cn)=([A-Za-z][\w.-]{1,63})(?=,)"),
    _form("project", "dc=", r"\b(?:dc|ou)=([A-Za-z][\w.-]{3,63})"),
    _form("user", " <", r"^[ \t>]{0,8}(?:From|To|Cc|Author|Committer|Signed-off-by): ([^\s<>\"][^<>\n\"]{2,62}?) <[^\s<>]{1,128}@"),
    _form(
        "serial",
        "erial",
        r"\b[Ss]erial(?:[ _-]?(?i:number|no))?[\"']?[ \t]{0,32}[:=][ \t]{0,8}[\"']?([A-Za-z0-9-]{6,64})",
    ),
)  # fmt: skip
_NCCL = late_pattern(r":\d{1,10}:\d{1,10} \[-?\d{1,4}\] (?:\S{1,64} )?NCCL ")
_SETTING_WORDS = ("ADDR", "HOST", "COMPUTERNAME", "NODE", "USER", "LOGNAME", "addr", "endpoint", "process_ip")
_SETTING = late_pattern(
    r"(?<![A-Za-z0-9])(MASTER_ADDR|HOSTNAME|SLURMD_NODENAME|SLURM_(?:JOB_|STEP_)?NODELIST|SLURM_SUBMIT_HOST"
    r"|PBS_O_HOST|(?:KUBERNETES_|K8S_)?NODE_NAME|COMPUTERNAME|USERDOMAIN|--master[_-]addr|--rdzv[_-]endpoint|--main_process_ip|main_process_ip"
    r"|USER|LOGNAME|USERNAME|SUDO_USER|SLURM_JOB_USER)"
    r"""(?:=|: {1,4}|["'][ \t]{0,8}:[ \t]{0,8}|(?:(?<=addr)|(?<=point)|(?<=_ip))[ \t]{1,8})["']?([^\s"';]{1,1024})"""
)
_NUMBER = late_pattern(r":\d{4,8}(?![\w.:-])")
_LEAD = late_pattern(
    r"(?:to|at|on|from|peer|[Aa]ddress|[Ee]ndpoint|[Mm]aster|[Ss]erver|[Hh]ost)[ :=]{1,3}[\"'(]?\Z"
)
_ZONE = late_pattern(
    r"\.(?:internal|cluster\.local|local|lan|corp|intranet|intra|com|org|net|edu|gov|cloud|tech|systems"
    r"|cn|de|uk|fr|jp|kr|ch|nl|se|es|ca|au|br|ru|pl|dk|fi|cz|eu|tw|sg|il|io|ai)(?![\w-]|\.\w|\()"
)
_SHORT_ZONES = (".internal", ".cluster.local")
"""A host in one of these has two labels often enough."""
_CODE_ZONES = (".io", ".ai", ".local", ".tech", ".cloud")
"""Modules and attributes are called so too: module.sub.io is Python's, gpu-7.acme.io a host."""

# Words with figures that are no machines: devices, types, versions, what a log counts.
_COUNTED = late_pattern(
    r"(?:cuda|gpu|gpus|rank|ranks|cpu|npu|xpu|mps|tpu|eth|enp?s?|ens|ib|mlx|bond|hsn|lo|fp|bf|int|uint|float|e\dm|sm|cu|py"
    r"|python|torch|nccl|step|epoch|iter|layer|layers|worker|device|port|pid|local_rank|stage|line|process|thread"
    r"|group|default|a|h|v|b|l|t|p|k|rtx|gb|mi|pg|tp|pp|dp|ep|dim|rfc|arm|armv|ia|i|sha|utf-?|ipv|ns|x|s|train_|val_|shard|block|batch|chunk|bucket"
    r"|coco|cifar|imagenet|wikitext|gsm|gpt|llama|qwen|resnet|vit|bert|wmt|voc|ade)"
    r"[_:.-]?\d+(?:[._x-]\d+)*[a-z]{0,4}",
    re.IGNORECASE,
)
_MACHINE = late_pattern(r"(?=[\w.-]*[A-Za-z])(?=[\w.-]*\d)[A-Za-z0-9](?:[\w-]|\.(?=[\w]))*\Z", re.ASCII)


_NO_NAMES = frozenset(
    """
    a all an and any alias anonymous caller colon object self struct are as at by can for from has hostname if in into is it its none no not null of on or port str that
    the this to true false unknown was which with socket.gethostname platform.node
    """.split()
)


def machine_name(name: str) -> bool:
    """Return whether a word looks like a machine's name: letters and a figure, and no device, type or file."""
    return (
        len(name) > 3
        and _MACHINE.match(name) is not None
        and not name.startswith("0x")
        and _COUNTED.fullmatch(name) is None
        and not file_name(name)
        and not public_host(name)
    )


_WORK = frozenset(
    """
    accelerator bert cifar coco cpu ddp finetune finetuning general gemma gpt high imagenet inference interactive jupyter large
    llama long low medium mistral normal preempt preemptible pretrain pretraining qwen resnet roberta short slurm small
    standard testing torchrun training vit wrap
    """.split()
)
"""What jobs, queues and accounts are called that names nobody, and that other lines say of other things."""


def names_told(text: str, tell: Tell) -> None:
    """Report host and user names that a text gives away by its form: kind and name, in no order."""
    for form in _FORMS:
        for line in _lines_with(text, form.signs):
            for match in compiled(form.pattern).finditer(line):
                for name in match.groups():
                    if name is not None:
                        _tell_name(form, name, tell)
    for line in _lines_with(text, (" NCCL ",)):
        for match in _NCCL.finditer(line):
            tell("host", before(line, match.start()).lstrip(".-"))
    for line in _lines_with(text, _SETTING_WORDS):
        for match in _SETTING.finditer(line):
            if match[2].rstrip(",)").lower() not in _NO_NAMES and not match[2].startswith(("$", "%")):
                tell("user" if user_key(match[1]) else "host", match[2].rstrip(",)"))
    _with_number(text, tell)
    _qualified(text, tell)
    for match in urls(text):
        if not public_host(match["host"]):
            tell("site", match["host"])
    for match in AT.finditer(text) if "@" in text else ():
        right = DOMAIN.match(text, match.end())
        left = before(text, match.start(), most=33)
        if right and len(left) < 33 and left != "git" and login(text, match.start() - len(left), right.end()):
            tell("user", left)
            tell("host", right[0])


def _tell_name(form: _Form, name: str, tell: Tell) -> None:
    name = name.rstrip(".,:-_")
    if form.kind == "repository":
        if not public_owner(name.partition("/")[0]):
            tell("repository", name)
        return
    if form.kind in ("host", "site"):
        if name.lower() in _NO_NAMES or ("." in name and "_" in name):
            return
        name = re.sub(r":\d{1,5}(?=,|\Z)", "", name)  # mpirun -H a:8,b:8
        if public_host(name) or file_name(name) or not (form.sure or machine_name(name)):
            return
    if form.kind == "project" and (
        not name or generic(name) or name.lower() in _WORK or "$" in name or "%" in name
    ):
        return
    if form.kind == "user" and (not name or generic(name) or name.lower() in _NO_NAMES):
        return
    tell(form.kind, name)


def _lines_with(text: str, signs: tuple[str, ...]) -> Iterator[str]:
    """Yield each line that holds one of the signs, once; the search for a plain string is what makes this fast."""
    starts: set[int] = set()
    for sign in signs:
        at = text.find(sign)
        while at >= 0:
            start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
            end = len(text) if end < 0 else end
            if start not in starts:
                starts.add(start)
                yield text[start:end]
            at = text.find(sign, end)


def _with_number(text: str, tell: Tell) -> None:
    """Report hosts in front of a port, ``connect to gpu7:29500``, or of a process's number, ``[gpu7:4242]``."""
    for match in _NUMBER.finditer(text):
        name = before(text, match.start())
        start = match.start() - len(name)
        name = name.lstrip(".-")
        bracket = text[start - 1 : start] == "[" and text[match.end() : match.end() + 1] == "]"
        if (
            machine_name(name)
            if bracket
            else name[:1].isalpha()
            and len(match[0]) in (5, 6)
            and not file_name(name)
            and not public_host(name)
            and "_" not in name
            and _LEAD.search(text, max(start - 24, 0), start)
        ):
            tell("host", name)


def _qualified(text: str, tell: Tell) -> None:
    """Report names that are a host's by their shape, such as ``x.y.acme.com``; no names of Python or of files."""
    for match in _ZONE.finditer(text):
        left = before(text, match.start()).lstrip(".-")
        name = left + match[0]
        labels = name.split(".")
        if not left or public_host(name):
            continue
        figures = re.search(r"[\d-]", left) is not None
        if "_" in name:
            continue
        if match[0] in _SHORT_ZONES:
            # locks.internal is code: a host there has a figure or a hyphen in its name
            if figures or match[0] != ".internal":
                tell("host", name)
        elif len(labels) > 2 and all(labels) and name.islower() and (figures or match[0] not in _CODE_ZONES):
            tell("site", name)


def names_under(key: str, value: str, tell: Tell) -> None:
    """Report what a value is by the name it is stored under."""
    if host_key(key):
        tell("host", value)
    elif user_key(key) and not generic(value):
        tell("user", value)
    elif key in ("repositories", "projects"):
        tell("repository" if key == "repositories" else "project", value)
    elif serial_key(key) or key == "serials":
        tell("serial", value)
