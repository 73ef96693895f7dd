"""Several ranks download or unpack one data set at the same time.

## What happens

At the first start on a machine, and rarely at the second: "File not found or corrupted.", "Dataset not found or
corrupted" right after the progress bars reached 100 %, `FileExistsError` for the data's folder, "Compressed file ended
before the end-of-stream marker". Other ranks then wait for the one that failed.

## Why

Every rank runs `MNIST(root, download=True)`, `load_dataset`, `nltk.download` or `extractall`, and all write into one
folder: one reads what another has half written. On a shared file system one rank per node is still too many. A file
system without locks ("No locks available") has the same effect.

## How to tell

The log shows the download of one file several times, or it failed on some ranks only. If a single process alone fails
too, look at the network and the address instead. What is broken stays: the folder must be deleted once.

## See also

- [pytorch/tutorials#3065](https://github.com/pytorch/tutorials/issues/3065): all ranks download at once
- [LightningDataModule](https://lightning.ai/docs/pytorch/stable/data/datamodule.html): `prepare_data` runs once per
  node
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom
from gpudoctor.facts import UNKNOWN, Call, Known, Script, elsewhere, of_several, one_alone, starts_several

# The data is downloaded or unpacked where the line stands.
DOWNLOAD = r"Downloading \S|already downloaded and verified|Extracting \S|download_and_extract|download_url|extract_archive|torchvision/datasets|load_dataset|snapshot_download|nltk/downloader|download=True|extractall|unpack_archive|zipfile\.ZipFile\("
# Several processes run; a line with the prefix of a rank shows it as well.
SEVERAL = re.compile(
    r"Downloading[\s\S]{0,6000}Downloading|torch[/.]distributed|torchrun|init_process_group|multiprocessing[/.]spawn|ChildFailed|"
    r"local_rank|world_size|\b[Rr]ank\W{0,2}\d|already downloaded and verified|-- Process \d+ terminated"
)
TEMPORARY = re.compile(r"\.incomplete|incomplete_info\.lock")
DATA = r"(?:[^'\"\n]{0,200}/)?(?:[\w-]{0,40}(?:data|datasets?|caches?|shards?|features|tokeni[sz]ed|preprocessed)|MNIST|FashionMNIST|cifar[\w-]{0,20}|raw|processed|imagenet)(?:/[^'\"\n]{0,200})?"

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning in a script",
    symptoms=[
        r"RuntimeError: (?P<what>File not found or corrupted)",
        Symptom(
            r"(?P<what>Dataset not found(?: or corrupted)?)\. You can use download=True",
            near=r"Downloading \S|already downloaded and verified|Extracting \S",
        ),
        rf"FileExistsError: \[Errno 17\] (?P<what>File exists): ['\"](?P<path>{DATA})['\"]",
        Symptom(
            r"(?P<what>Compressed file ended before the end-of-stream marker|Error -3 while decompressing data|Not a gzipped file|"
            r"CRC check failed 0x|ReadError: (?:unexpected end of data|not a gzip file|empty file|file could not be opened)|"
            r"File is not a zip file|Bad CRC-32 for file|Bad magic number for)",
            near=DOWNLOAD,
        ),
        Symptom(
            r"(?P<what>shape '\[\d+, 28, 28\]' is invalid for input of size)",
            near=r"torchvision/datasets|mnist\.py",
        ),
        Symptom(
            r"Downloading \S{1,300} to (?P<path>\S{1,300})",
            near=r"Downloading \S{1,300} to (?P<again>\S{1,300})\s[\s\S]{0,2000}?Downloading \S{1,300} to (?P=again)\s"
            r"[\s\S]*(?:Traceback|[Ee]rror|corrupt)",
        ),
        r"Failed to open local file '(?P<path>[^']{1,300}\.incomplete[^']{0,200})'",
        r"(?:No such file or directory|Directory not empty|File exists): ['\"](?P<path>[^'\"\n]{1,300}(?:\.incomplete|incomplete_info\.lock)[^'\"\n]{0,200})['\"]",
        r"OSError: \[Errno 37\] (?P<what>No locks available)",
        r"OSError: \[Errno 116\] (?P<what>Stale file handle): ['\"](?P<path>[^'\"]{1,300}\.lock)",
    ],
    fixes=[
        Fix(
            "On a shared file system: let rank 0 download and unpack, and the others wait",
            "if dist.get_rank() == 0:\n    MNIST(root, download=True)\ndist.barrier()\ndata = MNIST(root, download=False)",
            Kind.EDIT,
            proof="download=True)\ndist.barrier()",
        ),
        Fix(
            "On disks of the nodes' own: the first rank of each node",
            "if local_rank == 0:\n    MNIST(root, download=True)\ndist.barrier()\ndata = MNIST(root, download=False)",
            Kind.EDIT,
        ),
        Fix(
            "With accelerate (on disks of the nodes' own: local_main_process_first)",
            "with accelerator.main_process_first():\n    data = load_dataset(NAME)",
            Kind.EDIT,
        ),
        Fix(
            "Or download before the launch (here torchvision's MNIST)",
            "python -c 'import torchvision; torchvision.datasets.MNIST(\"data\", download=True)'",
        ),
        Fix("Move what is half written out of the way, once", "mv DATA DATA.broken"),
    ],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Several processes must be at it, unless the words alone say so; one alone has a broken download."""
    what, path = sighting.groups.get("what", ""), sighting.groups.get("path", "")
    alone = not what.startswith(("Dataset not found", "No locks", "Stale")) and not TEMPORARY.search(path)
    if alone and sighting.rank is None and not SEVERAL.search(sighting.around):
        return
    message = f"several ranks download or unpack the data at once: {what or 'the same file more than once'}"
    yield check.found(f"{message} ({path})" if path else message)


def _told_to(call: Call) -> bool:
    """Return whether a data set downloads what is missing, unless an option forbids it."""
    given = call.arguments.get("download")
    return given is not None and (given.value.literal is True or UNLESS.fullmatch(given.text) is not None)


UNLESS = re.compile(r"not (?:\w+\.)?(?:offline|(?:no|skip|dont|without)_?download)")
"""An option that is off unless it is given: ``download=not args.offline``."""


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A data set, or a file, that every rank downloads, at the same time and into one folder."""
    own = script.process_group is not None or not script.frameworks
    starts_ranks = bool(BY_SCRIPT & {*script.frameworks}) or (
        (script.distributed or starts_several(script) or script.launched) and own
    )
    if not starts_ranks or elsewhere(script):
        return
    spawning = any(True for _ in script.named("torch.multiprocessing.spawn", "multiprocessing.Process"))
    made = [script.made_by(dataset) for dataset in script.of_kind("dataset")]
    sets = [call for call in made if call is not None and _told_to(call)]
    inside = [c for c in script.named("super.__init__") if script.thing(c.receiver, "dataset") is not None]
    sets += [c for c in inside if _told_to(c)]
    for call in sets:
        if _by_all(script, call, spawning=spawning):
            yield check.found(
                f"every rank comes here and downloads {_set(script, call)} into the same folder at once: one reads what another is "
                "still writing",
                severity=Severity.WARNING,
                location=call.place,
            )
    for call in script.calls:
        if _fetches(call) and of_several(script, call) and _by_all(script, call, spawning=spawning):
            yield check.found(
                f"every rank comes here, and {call.text}() writes the same file on all of them at once: one reads what another "
                "is still writing",
                severity=Severity.WARNING,
                location=call.place,
            )


def _set(script: Script, call: Call) -> str:
    """Return the name of the data set that a call makes."""
    if call.name != "super.__init__":
        return call.text.rpartition(".")[2] if call.text.isidentifier() else call.method
    thing = script.thing(call.receiver, "dataset")
    return thing.type if thing is not None else "a data set"


def _by_all(script: Script, call: Call, *, spawning: bool) -> bool:
    """Return whether surely every rank makes a call, and none has made it before the others."""
    if one_alone(call) or (call.reached and spawning and not call.spawned):
        return False
    if not call.reached and not of_several(script, call):
        return False
    held = any(word in name.lower() for name in call.contexts for word in ("first", "main_process", "lock"))
    if (
        held
        or _one_by_one(script, call)
        or any(argument.value.by_rank for argument in call.arguments.values())
    ):
        return False
    before = [c for c in script.calls[: call.number] if c.name == call.name]
    before = [c for c in before if not call.given("download") or c.value("download").literal is True]
    return not any(c.rank_conditions or (spawning and not c.spawned) for c in before)


def _one_by_one(script: Script, call: Call) -> bool:
    """Return whether barriers for some ranks alone, before a call and after it, let one rank make it first."""
    parted = [
        b.number
        for b in script.named("torch.distributed.barrier")
        if b.rank_conditions and b.scope == call.scope
    ]
    return any(number < call.number for number in parted) and any(number > call.number for number in parted)


def _fetches(call: Call) -> bool:
    """Return whether a call surely writes a file that it downloads or unpacks, in place and without a lock."""
    fetching = (
        call.name in FETCHING
        or call.method == "extractall"
        or (call.method == "extract" and bool(call.loops) and call.name.startswith(("zipfile.", "tarfile.")))
        or (call.name in SHELLS and _downloads(call))
        or re.fullmatch(r"download_(?:and_(?:unzip|extract)(?:_archive)?|dataset|data)", call.method)
        is not None
    )
    return fetching and not one_alone(call)


def _downloads(call: Call) -> bool:
    """Return whether a program that is started here surely fetches a file."""
    first = next((argument.value for argument in call.arguments.values()), UNKNOWN)
    if first.known is Known.SEQUENCE and first.items:
        first = first.items[0]
    text = first.literal if isinstance(first.literal, str) else first.text
    return text.split(" ")[0] in PROGRAMS


PROGRAMS = ("wget", "curl", "gdown", "unzip", "tar")
"""Programs that fetch or unpack what one of them at a time may write."""


SHELLS = frozenset(
    "os.system subprocess.run subprocess.call subprocess.check_call subprocess.check_output".split()
)
FETCHING = frozenset(
    {
        "urllib.request.urlretrieve",
        "wget.download",
        "gdown.download",
        "torchvision.datasets.utils.download_url",
        "torchvision.datasets.utils.extract_archive",
        "shutil.unpack_archive",
    }
)
"""What writes into the file itself, and not into another one that is renamed when it is whole."""

BY_SCRIPT = {"accelerate", "deepspeed", "horovod"}
"""Libraries whose launcher starts the whole script once for each rank."""
