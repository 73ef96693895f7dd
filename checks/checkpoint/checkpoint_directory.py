"""A checkpoint's folder or file is not there, or cannot be written.

## What happens

"Parent directory /data/run1 does not exist", "No such file or directory: 'checkpoints/last.pt'", "File exists:
'checkpoints'", "open file failed with strerror: Is a directory", or "Can't find a valid checkpoint at".

## Why

- `torch.save` creates no folders, and nobody called `os.makedirs`.
- The path is relative, and the job starts in another folder (Slurm, containers), or the container mounts it elsewhere.
- Rank 0 made the folder on its node, and the disk of another node is not the same.
- All ranks make, rename or remove the same folder: the first one wins, the others fail. transformers 4.36.0 and 4.36.1
  renamed `tmp-checkpoint-…` so.
- The path is a folder where a file is meant, or the other way round.

## How to tell

`srun --ntasks-per-node=1 ls -ld FOLDER` (or ssh to each node) shows on which nodes it is there and whose it is. If one
rank of several fails, and the folder is there afterwards, several ranks made it at the same time.

`gpudoctor lint train.py` finds a `torch.save` into a folder that the script never makes.

## See also

- [torch.save](https://docs.pytorch.org/docs/stable/generated/torch.save.html): a path, or an open file
- [transformers#28015](https://github.com/huggingface/transformers/issues/28015): ranks that race to rename it
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom
from gpudoctor.facts import Argument, Call, Known, Script, Value, of_several, one_alone, origins, same_for_all

NAME = r"(?:\.(?:pth?|ckpt|safetensors|pth\.tar|pt\.tar|distcp|metadata)|(?:model|weight|adapter|optim|state|rng|param|net)[^/'\"\n]{0,80}\.bin|trainer_state\.json|model\.safetensors\.index\.json|[Cc]heckpoints?[\w./-]{0,200}|ckpts?[\w./-]{0,200})"
# A file .bin may hold anything: its name must say that it is of a model, or torch.load stand above it.
# What is still being downloaded is dataset-download-race; tokens are in files such as data/train.bin, dataset-missing.
TOKENS = r"[^'\"\n]{0,300}\b(?:train|val|valid|validation|test|tokens|corpus)\.bin['\"]"
QUOTED = rf"['\"](?![^'\"\n]{{0,300}}\.(?:partial|incomplete|lock)['\"])(?!{TOKENS})(?P<path>[^'\"\n]{{0,300}}{NAME})['\"]"
SERIAL = r"torch[/\\]serialization\.py|torch[/\\]distributed[/\\]checkpoint"
OUTPUT = r"['\"](?P<path>[^'\"\n]{0,300}(?:save|output|result|exp|run|log|weight|model|work_dir)[^'\"\n]{0,200})['\"]"
DATA = r"['\"][^'\"\n]{0,300}\.(?:jpe?g|png|csv|jsonl?|txt|npy|npz|h5|arrow|parquet|ya?ml|py|so)['\"]"

MADE = Fix(
    "Make it in each process that saves, before it does; a folder that is there by then is left as it is",
    "os.makedirs(os.path.dirname(path), exist_ok=True)\ntorch.save(state, path)",
    Kind.EDIT,
    proof="os.makedirs(os.path.dirname(path), exist_ok=True)",
)
ABSOLUTE = Fix(
    "Take an absolute path: the job may start in another folder",
    'path = Path(__file__).parent / "checkpoints" / "last.pt"',
    Kind.EDIT,
)
SEE = Fix("See it on every node", "srun --ntasks-per-node=1 sh -c 'hostname; ls -ld FOLDER'")
# What is told of a file that is to be read: no folder that is made holds one.
READ = re.compile(
    r"Repo id must|not found|can not be found|find a valid|No valid checkpoint|no file named|appear to have|"
    r"not a local folder|not a checkpoint|not a valid DeepSpeed|latest file|load path|folder does not exist|"
    r"No such file or directory: [^'\"\s]"  # as safetensors says it
)
# the calls of a traceback in which a file is opened
READING = re.compile(
    r"\b(?:torch|dcp|checkpoint)\.load\(|\bsafe_open\(|, in (?:_?load|load_file|load_model|read_metadata|from_pretrained)\b"
)
# a file that is opened to be read, as the line of the traceback shows it
OPENED = re.compile(r"\bopen\([^()\n]{0,200}[\"']rb?[\"']|\b(?:load|imread|read_\w+)\([^()\n]{0,200}\)")
WRITING = re.compile(r"\b(?:torch|dcp|checkpoint)\.(?:async_)?save\(|, in (?:async_)?save\b")

check = Check(
    severity=Severity.ERROR,
    otherwise="in a script a warning, and a note where the path is absolute: the folder may be there",
    symptoms=[
        r"Parent directory (?:of )?(?P<path>.{1,300}?) does not exist",
        rf"No such file or directory: {QUOTED}",
        # safetensors, whose Rust says it without quotation marks
        r"FileNotFoundError: No such file or directory: (?P<path>[^'\"\s][^'\"\n]{0,300}\.safetensors)\b",
        Symptom(
            rf"FileNotFoundError: \[Errno 2\] No such file or directory: (?!{DATA})['\"](?P<path>[^'\"\n]{{1,300}})['\"]",
            near=SERIAL,
        ),
        rf"IsADirectoryError: \[Errno 21\] Is a directory: {QUOTED}",
        Symptom(
            r"IsADirectoryError: \[Errno 21\] Is a directory: ['\"](?P<path>[^'\"\n]{1,300})['\"]",
            near=SERIAL,
        ),
        r"open file failed (?:with strerror: |because of errno \d+ on fopen: )(?P<reason>Is a directory|Permission denied|No such file or directory|Read-only file system|File exists)",
        r"RuntimeError: File (?P<path>\S{1,300}\.\w{2,12}) cannot be opened",
        r"(?:PermissionError: \[Errno 13\] Permission denied|OSError: \[Errno 30\] Read-only file system): ['\"](?P<path>[^'\"\n]{1,300}\.(?:pth?|ckpt|safetensors|tar|bin))['\"]",
        Symptom(
            r"(?:PermissionError: \[Errno 13\] Permission denied|OSError: \[Errno 30\] Read-only file system): ['\"](?P<path>[^'\"\n]{1,300})['\"]",
            near=r"torch[/\\]distributed[/\\]checkpoint",
        ),
        # ranks that race for one folder
        rf"FileExistsError: \[Errno 17\] File exists: {QUOTED}",
        Symptom(
            rf"(?:FileExistsError: \[Errno 17\] File exists|PermissionError: \[Errno 13\] Permission denied|OSError: \[Errno 30\] Read-only file system): {OUTPUT}",
            near=r"makedirs|mkdir",
        ),
        rf"OSError: \[Errno 39\] Directory not empty: {QUOTED}",
        # transformers, huggingface_hub
        r"No valid checkpoint found in output directory \((?P<path>[^)\n]{1,300})\)",
        r"Can't find a valid checkpoint at (?P<path>\S{0,300}[^\s.])",
        r"Error no file named .{1,300} found in directory (?P<path>\S{0,300}[^\s.])",
        r"(?P<path>\S{1,300}) does not appear to have (?:a file|files) named \(?'?(?:pytorch_model|model\.safetensors|tf_model|adapter_model)",
        # the code of a model of one's own, which a checkpoint of it lacks
        r"OSError: (?P<path>[./~]\S{1,300}) does not appear to have a file named \w{1,100}\.py\b",
        r"Repo id must .{1,200}: ['\"](?P<path>[./~][^'\"\n]{0,300})['\"]",
        r"OSError: (?P<path>[./~]\S{0,300}) is not a local folder and is not a valid model identifier",
        # DeepSpeed, Lightning, accelerate, mmcv, fvcore
        r"Unable to find latest file at (?P<path>\S{1,300}), if trying to load latest checkpoint",
        r"Client provided checkpoint load path: (?P<path>\S{1,300}) does not exist",
        r"(?:Checkpoint file not found|The provided path is not a valid DeepSpeed checkpoint): (?P<path>\S{1,300})",
        r"Checkpoint at (?P<path>\S{1,300}) not found\. Aborting",
        r"Tried to find (?P<path>.{1,300}?) but folder does not exist",
        r"Checkpoint directory (?P<path>\S{1,300}) \(\d+\) already exists\. Please manually override",
        r"(?:OSError|IOError|ValueError): (?P<path>\S{1,300}) is not a checkpoint file",
        r"FileNotFoundError: (?P<path>\S{1,300}\.pth) can not be found",
        r"AssertionError: Checkpoint (?P<path>\S{1,300}) not found!",
        # PEFT, huggingface_hub, Lightning, DeepSpeed's conversion, Megatron-LM, fairseq
        r"Error: (?:The )?(?:[\w-]+ )?[Cc]heckpoint (?:file |path |directory |dir |folder )?'?(?P<path>[/.~]\S{1,300}?)'? (?:does not exist|not found)\b",
        r"Exception: (?:The )?[Cc]heckpoint (?:file |path |directory |dir |folder )?'?(?P<path>[/.~]\S{1,300}?)'? (?:does not exist|not found)\b",
        r"(?:Error|Exception): (?:The )?(?:(?:provided|[Ee]xpert|[Rr]esume) )?(?:[Cc]heckpoint|Model|[Ww]eights?) (?:file|path|directory|folder) (?:does not exist|not found)(?: at)?: '?(?P<path>\S{1,300}?)[.']?(?: |$)",
        r"Error: (?:Resume )?[Cc]heckpoint not found\. Please pass",
        r"No checkpoint file found at '(?P<path>[^'\n]{1,300})'",
        r"Directory '(?P<path>[^'\n]{1,300})' does not contain a valid checkpoint",
        r"The path '(?P<path>[^'\n]{1,300})' does not point to (?:a )?valid (?:sharded |full )?checkpoint",
        r"Can't find a checkpoint index \((?P<path>[^)\n]{1,300})\)",
        r"failed to resume from checkpoint (?P<path>\S{1,300})",
        r"Unable to find 'latest' file at (?P<path>\S{1,300})",
        r"can't find (?:ZeRO Stage 3 model state|model states?) files? (?:in directory|at) '(?P<path>[^'\n]{1,300})'",
        r"Can't find 'adapter_config\.json' at '(?P<path>[^'\n]{1,300})'",
        r"Can't find weights for (?P<path>\S{1,300}) in \S{1,300} or in the Hugging Face Hub",
        r"adapter model file not found in (?P<path>\S{1,300}?)\. Make sure",
        r"Tried to load from (?P<path>\S{1,300}) but couldn't find a valid metadata file",
        r"Exception: (?P<path>[/.~]\S{1,300}) is not a distributed checkpoint",
        r"Error: Unable to find checkpoint in (?P<path>\S{1,300}?)\.?$",
        r"Neither a state dict nor checkpoint files were found",
        r"(?P<path>\S{1,300}) does not appear to have a file named \S{1,200} but there is a file without the variant",
        rf"(?:PermissionError: \[Errno 13\] Permission denied|OSError: \[Errno 30\] Read-only file system): {QUOTED}",
    ],
    message="a checkpoint cannot be read or written at this path",
    fixes=[
        MADE,
        ABSOLUTE,
        SEE,
    ],
)
RACED = ("tmp-checkpoint", "File exists", "not empty", "already exists")
RACE = [
    Fix(
        "Make it on one rank, let the others wait, and accept a folder that is there",
        "if dist.get_rank() == 0:\n    os.makedirs(folder, exist_ok=True)\ndist.barrier()",
        Kind.EDIT,
    ),
    Fix(
        "transformers 4.36: take a version that renames on one rank",
        'python -m pip install --upgrade "transformers>=4.37"',
    ),
]
WHOSE = Fix(
    "See whose it is, on every node",
    "srun --ntasks-per-node=1 sh -c 'hostname; id; ls -ld FOLDER; df FOLDER'",
)
OWNED = Fix("Give the folder to the user of the job", "sudo chown -R USER FOLDER", Kind.ADMIN)
ACCESS = [
    WHOSE,
    Fix("Write where this user may", 'torch.save(state, Path.home() / "last.pt")', Kind.EDIT),
    OWNED,
]
FOLDER = [
    Fix(
        "Name the file inside of the folder", 'torch.save(state, os.path.join(folder, "last.pt"))', Kind.EDIT
    ),
    Fix(
        "A folder that torch.distributed.checkpoint or DeepSpeed wrote is loaded with what wrote it",
        'torch.distributed.checkpoint.load({"model": state}, checkpoint_id=folder)',
        Kind.EDIT,
    ),
]


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A torch.save into a folder of a fixed name, in a script that makes no folder."""
    yield from _raced(script)
    saves = list(script.named("torch.save"))
    made = [call for call in script.calls if makes_folders(call)] if saves else []
    making = [call for call in made if not _looks_elsewhere(script, call)]
    said = set()
    for call in saves:
        folder, fresh = folder_of(script, call.value("f"))
        if not folder or folder in said or _is_there(script, folder) or _left_open(script, call):
            continue
        if not any(_may_make(script, other, folder) for other in making):
            said.add(folder)
            yield check.found(
                f"nothing in this script makes the folder {folder}, and torch.save makes none: where it is missing the "
                "work until here is lost",
                severity=Severity.ERROR
                if fresh
                else Severity.NOTE
                if folder.startswith("/")
                else Severity.WARNING,
                location=call.place,
                fixes=[MADE],
            )


def _left_open(script: Script, call: Call) -> bool:
    """Return whether nothing here calls the function that saves, and its folder is the default of a parameter."""
    own = next(
        (s for s in script.signatures if s.name.rpartition(".")[2] == call.scope.rpartition(".")[2]), None
    )
    if call.reached or len(call.stack) > 1 or own is None:
        return False
    made = call.value("f").made
    parts = [call.arguments["f"].text]
    parts += [a.text for a in script.calls[made].arguments.values()] if 0 <= made < len(script.calls) else []
    return bool({*own.parameters[own.required :]} & {*parts})


def _raced(script: Script) -> Iterator[Finding]:
    """Report a folder that every rank makes where it is not there: all but one may find that it is there by then."""
    spawning = any(True for _ in script.named("torch.multiprocessing.spawn", "multiprocessing.Process"))
    before = [
        c for c in (script.calls if spawning else ()) if not c.spawned and c.reached and makes_folders(c)
    ]
    for call in [*script.named("os.makedirs", "os.mkdir"), *script.methods("mkdir")]:
        path = next(iter(call.arguments.values()), None)
        if not call.name.startswith("os."):
            if "." not in call.text or call.receiver.known is Known.SYMBOL:
                continue  # a function of that name that is not seen: it may well accept a folder that is there
            path = Argument(call.receiver, call.place, call.text.removesuffix(".mkdir"))
        looks = any("exists" in c.text or "is_dir" in c.text or "isdir" in c.text for c in call.conditions)
        if path is None or call.given("exist_ok") or "try" in call.contexts or one_alone(call):
            continue
        clocked = path.value.from_data
        if clocked and not _by_the_second(script, path.value):
            continue  # a random name, or a finer clock
        if spawning and not call.spawned:
            continue
        parents = (m for m in before if m.scope != call.scope or m.place.line > call.place.line)
        parents = (m for m in parents if not m.excluded(call))  # as where one process alone does it all
        if not all(_of_another_option(made, path.text) for made in parents):
            continue  # the parent makes it before there are ranks
        if (
            (call.reached or "." in call.scope)
            and of_several(script, call)
            and same_for_all(script, path.value, path.text)
        ):
            does = (
                "looks for it and makes it: where two look at once, the second"
                if looks
                else "makes it: all but one"
            )
            said = f"{path.text}: every rank {does} fails with FileExistsError"
            if clocked:
                said += ", and ranks whose clocks show another second write into another folder"
            yield check.found(
                said,
                severity=Severity.WARNING,
                location=call.place,
                fixes=RACE,
            )
            return


def _by_the_second(script: Script, path: Value) -> bool:
    """Return whether a name comes of a clock that shows the same to ranks that start together."""
    shown = [call for call in origins(script, path) if call.method == "strftime"]
    texts = [argument.text for call in shown for argument in call.arguments.values()]
    return bool(shown) and not any("%f" in text for text in texts)


def _of_another_option(made: Call, path: str) -> bool:
    """Return whether a call is about one option of the script, and a path is another: ``args.out`` and ``args.index``."""
    given = [argument.text for argument in made.arguments.values()][:1]
    options = [text for text in (*given, path) if OPTION.fullmatch(text)]
    return len(options) == 2 and options[0] != options[1]


OPTION = re.compile(r"(?:args|opts?|cfg|config|flags|FLAGS|hparams)\.\w+")


def makes_folders(call: Call) -> bool:
    """Return whether a call makes folders, or looks whether there are some."""
    name = call.method.lower()
    if (
        "mkdir" in name
        or "makedir" in name
        or MAKING.fullmatch(name)
        or name in ("isdir", "is_dir", "exists", "summarywriter")
    ):
        return True
    first = next(iter(call.arguments.values()), None)
    if call.name.startswith(("os.system", "subprocess.")) and first is not None:
        if not first.value.is_literal and not first.value.items:
            return True  # a command that is not known
    return any(
        isinstance(item.literal, str) and "mkdir" in item.literal
        for a in call.arguments.values()
        for item in (a.value, *a.value.items)
    )


MAKING = re.compile(
    r"_?(?:create|make|ensure|prepare|setup|set_up|check|init)_?\w*(?:dir|dirs|folders?|director(?:y|ies))"
)
"""What a function is called that makes a folder where it is not there."""


def _looks_elsewhere(script: Script, call: Call) -> bool:
    """Return whether a call looks for another file: for one that is loaded, or given to this function to read."""
    if call.name not in ("os.path.exists", "os.path.isfile", "os.path.isdir"):
        return False
    text = next((argument.text for argument in call.arguments.values()), "")
    loads = any(a.text == text for c in script.named("torch.load") for a in c.arguments.values())
    saves = any(text in c.arguments["f"].text for c in script.named("torch.save") if "f" in c.arguments)
    return bool(text) and loads and not saves


def _is_there(script: Script, folder: str) -> bool:
    """Return whether a folder surely is there: a file of it is read that this script does not write, or it lies in one."""
    read = [c.value("f") for c in script.named("torch.load")]
    read += [c.value("file") for c in script.named("open") if c.value("mode").literal in (None, "r", "rb")]
    written = [c.value("f").literal for c in script.named("torch.save")]
    found = [path for path in read if path.is_literal and path.literal not in written]
    if any(folder_of(script, path)[0] == folder for path in found):
        return True
    return "/" not in folder and folder in script.path.split("/")[:-1]


def _may_make(script: Script, call: Call, folder: str) -> bool:
    """Return whether a call that makes or looks for a folder may mean this one: all may that name none in full."""
    first = next((a.value for a in call.arguments.values()), None)
    if first is None and call.method == "SummaryWriter" and not call.starred:
        first = RUNS
    text = first.literal if first is not None and first.is_literal else None
    if text is None and first is not None and "{}" in first.text:
        text = first.text.partition("{}")[0]
    if not isinstance(text, str) or "mkdir" in text:
        return True
    own, other = f"{folder}/", f"{text.removeprefix('./').rstrip('/')}/"
    return own.startswith(other) or other.startswith(own) or not text.rstrip("/")


RUNS = Value(Known.LITERAL, "runs")
"""Where a SummaryWriter writes that is told no folder."""
GIVEN = ("/tmp", "/dev", "/opt/ml", "/kaggle", "/var", "/usr")
"""Folders that the system, or who runs the job, makes."""
OWN_DEPTH = 4
"""From how many names on an absolute path is one that a user makes: /home/name/project/run."""


def folder_of(script: Script, path: Value) -> tuple[str, bool]:
    """Return the relative folder of a path, empty where it is none or not known; and whether nobody can have made it."""
    if path.known is Known.CHOICE:
        return next((found for item in path.items if (found := folder_of(script, item))[0]), ("", False))
    text = path.literal if isinstance(path.literal, str) and path.is_literal else ""
    if not text and path.known is Known.UNKNOWN and "/" in path.text and (path.made < 0 or "{}" in path.text):
        text = _filled(path)
    fresh = False
    if not text and path.text == "Div":
        text = _path(script, path) or ""
    if not text and 0 <= path.made < len(script.calls):
        call = script.calls[path.made]
        parts = [argument.value for argument in call.arguments.values()]
        if call.name == "os.path.join" and parts:
            first = parts[0].made if not parts[0].is_literal else -1
            fresh = first >= 0 and script.calls[first].name == "tempfile.mkdtemp"
            names = [_word(p) for p in parts[1 if fresh else 0 : -1]]
            if all(isinstance(name, str) for name in names):
                text = "/".join([*map(str, names), "file"])
    folder = text.rpartition("/")[0].removeprefix("./")
    known = folder and not folder.startswith(("~", "..", "{", ".", "s3:", "gs:", "http", *GIVEN))
    if folder.startswith("/") and folder.count("/") < OWN_DEPTH:
        return "", False  # a disk, a mount, somebody's home
    return (folder, fresh) if known else ("", False)


def _path(script: Script, value: Value) -> str | None:
    """Return what ``Path("folder") / name`` comes to, ``None`` where its beginning is not written out."""
    if value.text == "Div" and len(value.items) == 2:
        front = _path(script, value.items[0])
        return None if front is None else f"{front}/{_word(value.items[1]) or '{}'}"
    made = script.calls[value.made] if 0 <= value.made < len(script.calls) else None
    if made is None or made.name != "pathlib.Path" or len(made.arguments) != 1:
        return None
    return _word(next(iter(made.arguments.values())).value)


def _word(value: Value) -> str | None:
    """Return a part of a path where it is written out, an option's default too."""
    written = value.is_literal or value.known is Known.ARGUMENT
    return value.literal if written and isinstance(value.literal, str) else None


def _filled(path: Value) -> str:
    """Return a formatted path with what is known in its places."""
    text = path.text
    for item in path.items:
        text = text.replace("{}", _word(item) or "<>", 1)
    return text.replace("<>", "{}")


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say what is wrong with the path: it is missing, was made by another rank, is a folder, or may not be written."""
    path, line = sighting.groups.get("path", "the path"), sighting.line
    if "Permission denied" in line or "Read-only" in line:
        reads = "Permission" in line and OPENED.search(sighting.around) is not None
        said = f"{path} may not be {'read' if reads else 'written'} by this process"
        yield check.found(said, fixes=[WHOSE, OWNED] if reads else ACCESS)
    elif "Is a directory" in line:
        yield check.found(f"{path} is a folder, where a file is meant", fixes=FOLDER)
    elif any(words in line for words in RACED):
        said = f"{path} was made or moved by another rank, or by an earlier run, just before"
        yield check.found(said, fixes=RACE)
    else:
        around = sighting.around
        read = READ.search(line) or (READING.search(around) and not WRITING.search(around))
        fixes = [ABSOLUTE, SEE] if read else check.fixes
        yield check.found(
            f"{path} is not there, or holds no checkpoint, where this process looks", fixes=fixes
        )
