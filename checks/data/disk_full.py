"""A file system or a quota is full.

## What happens

"OSError: [Errno 28] No space left on device", "[Errno 122] Disk quota exceeded". `torch.save` does not say why: it
ends in "PytorchStreamWriter failed writing file data/176" or "unexpected pos 704 vs 598", and leaves a file that is
cut off, which is `checkpoint-corrupt` at the next start. numpy says "100000 requested and 83936 written".

## Why

- Checkpoints: the model, two more copies for Adam, for every step that is kept, often from every rank.
- Caches in the home directory: Hugging Face, Triton, torch's compiler, pip. Quotas of homes are small.
- /tmp of the node or container; the ephemeral storage of a pod.
- It is not the disk: under `ulimit -f` torch.save ends in "unexpected pos" too (`resource-limit`).
- No inodes left: many small files fill a disk that `df -h` shows half empty.

The same words about `/dev/shm`, a semaphore or a shared memory segment are `shm-too-small`.

## How to tell

`df -h . /tmp ~` and `df -i .`, `quota -s`, on the node and inside the container; `du -sh ~/.cache/* ~/.triton`.

## See also

- [Hugging Face: manage the cache](https://huggingface.co/docs/huggingface_hub/guides/manage-cache): what takes the room, and how to delete it
- [h2o-llmstudio#214](https://github.com/h2oai/h2o-llmstudio/issues/214): the output folder was full, and PytorchStreamWriter failed
"""

import errno
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Symptom, byte_size
from gpudoctor.facts import Folder, Storage

MIB = 1 << 20
GIB = 1 << 30
# A checkpoint does not fit, nor do compiled kernels; a small file system that is meant to be small is not full.
LITTLE, NOTHING = GIB, 16 * MIB
USED_UP = 0.95
INODES_FEW = 1000
# What ext4 and its like turn read-only themselves, after an error; images and archives are read-only by nature.
TURNS = ("ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "tmpfs")
ELSEWHERE = Fix(
    "Put temporary files and caches on a disk with room",
    "export TMPDIR=/DISK/tmp TRITON_CACHE_DIR=/DISK/triton TORCHINDUCTOR_CACHE_DIR=/DISK/inductor; mkdir -p $TMPDIR",
    filled=(),
)
SHM = r"/dev/shm|pandarallel|ctx\.Lock\(|_rlock|/torch_\d+_|SemLock|shared memory segment|shared memory ?\(shm\)|joblib will operate|inotify|posix_fallocate|ftruncate|shm_open|shm\.h"
# of a copy the second file is the one that is written
TARGET = r"(?:['\"][^'\"]{1,300}['\"] -> )?['\"](?P<path>[^'\"]{1,300})"
WHICH = Fix("See which file system it is, its inodes too", "df -h . /tmp ~; df -i . /tmp ~; quota -s")
LIMIT = Fix(
    "Where the disk has room (<position>): see whether a limit on the size of a file is set in the job",
    "ulimit -a",
)
IN_HOME = Fix("See what takes the space in your home", "du -sh ~/.cache/* ~/.triton")

check = Check(
    severity=Severity.ERROR,
    words_stand=True,
    otherwise="a warning where it is nearly full, a note where it is mounted read-only",
    symptoms=[
        Symptom(rf"[Nn]o space left on device(?!: '/dev/shm)(?:: {TARGET})?", unless=SHM),
        Symptom(r"\bENOSPC\b|kind: StorageFull", unless=SHM),
        rf"(?P<quota>[Dd]isk quota exceeded)(?:: {TARGET})?",
        r"write\(\): fd \d+ failed with (?:No space left|Input/output error)",  # until 1.5
        r"PytorchStreamWriter failed writing (?:file (?P<part>[\w./]+)|central directory)",
        r"inline_container\.cc:\d+\] \. (?P<position>unexpected pos \d+ vs \d+)",
        r"Not enough disk space\. Needed: (?P<needed>[\d.]+ \w+)",
        r"Not enough free disk space to download the file\. The expected file size is: (?P<needed>[\d.]+ \w+)",
        r"\b(?P<asked>\d+) requested and (?P<written>\d+) written\b",  # numpy
        r"database or disk is full",
        r"No usable temporary directory found in",
        r"low on resource: ephemeral-storage",
        r"ephemeral local storage usage exceeds the total limit",
        r"\[WinError 112\]",
    ],
    message="the disk[ under <path>] is full[, by the user's quota: <quota>][: <needed> are needed][: <written> of <asked> items could be written][ or went away while <part> was written][, or a limit on the size of a file is reached: <position>]",
    fixes=[
        WHICH,
        LIMIT,
        IN_HOME,
        Fix(
            "Put temporary files and caches on the large disk",
            "export TMPDIR=/DISK/tmp HF_HOME=/DISK/hf TRITON_CACHE_DIR=/DISK/triton TORCHINDUCTOR_CACHE_DIR=/DISK/inductor; "
            "mkdir -p $TMPDIR",
        ),
        Fix(
            "Keep the last checkpoints alone (Trainer: save_total_limit; Lightning: save_top_k)",
            "args = TrainingArguments(..., save_total_limit=2)",
            Kind.EDIT,
        ),
        Fix(
            "Never overwrite the good file with half a new one",
            'torch.save(state, "model.pt.tmp")\nos.replace("model.pt.tmp", "model.pt")',
            Kind.EDIT,
        ),
        Fix("Raise the user's quota", "sudo edquota -u USER", Kind.ADMIN),
    ],
)


@check.environment
def environment(storage: Storage) -> Iterator[Finding]:
    """A file system that training writes to is full, or cannot be written to."""
    told: set[str] = set()
    for folder in storage.folders:
        if folder.use == "mount" or (folder.mount or folder.path) in told:
            continue
        found = _full(folder) or _read_only(folder) or _missing(folder)
        if found is not None:
            told.add(folder.mount or folder.path)
            yield found
    if storage.temporary is None and not any(f.stalled for f in storage.folders):
        message = "no folder takes temporary files, neither TMPDIR nor /tmp, /var/tmp or the working folder"
        yield check.found(
            f"{message}: torch, Triton and multiprocessing end with 'No usable temporary directory found'",
            fixes=[ELSEWHERE, WHICH],
        )


def _name(folder: Folder) -> str:
    if folder.use == "file system":  # one of df's list in a text
        return "the file system"
    what = folder.variable if folder.variable and folder.use != "home" else folder.use
    return f"the file system of {'the ' if what == folder.use and what != 'home' else ''}{what}"


def _full(folder: Folder) -> Finding | None:
    free, total = folder.free_bytes, folder.total_bytes
    fixes = [WHICH, IN_HOME, ELSEWHERE]
    if free is not None and total and not folder.read_only:
        left = f"{_name(folder)} ({folder.mount or folder.path}) has {byte_size(free)} of {byte_size(total)} left"
        if free < NOTHING:
            return check.found(
                f"{left}: nothing can be saved there, checkpoints and caches fail", fixes=fixes
            )
        if free < LITTLE and free < (1 - USED_UP) * total:
            message = f"{left}: a checkpoint or a cache of compiled kernels fills it"
            return check.found(message, severity=Severity.WARNING, fixes=fixes)
    if folder.inodes and folder.inodes_free is not None and not folder.read_only:
        left = f"{_name(folder)} ({folder.mount or folder.path}) has {folder.inodes_free} of {folder.inodes} inodes left"
        if folder.inodes_free <= min(INODES_FEW, folder.inodes / 20):
            severity = Severity.ERROR if folder.inodes_free == 0 else Severity.WARNING
            message = f"{left}: no more files can be made there, however much space `df -h` shows"
            return check.found(message, severity=severity, fixes=[WHICH, ELSEWHERE])
    return None


def _read_only(folder: Folder) -> Finding | None:
    """Say that a folder cannot be written to: its file system turned read-only, or is mounted so."""
    if not folder.read_only:
        return None
    where = f"{_name(folder)} ({folder.mount}, {folder.kind})"
    if folder.file_system_read_only and folder.kind in TURNS:
        message = f"{where} is read-only, as the kernel makes one after an error: nothing can be saved there"
        look = Fix("See why", "sudo dmesg -T | grep -iE 'remount|I/O error|EXT4-fs|XFS'", Kind.ADMIN)
        return check.found(message, severity=Severity.WARNING, fixes=[ELSEWHERE, look])
    message = f"{where} is mounted read-only: checkpoints and caches must go elsewhere"
    return check.found(message, severity=Severity.NOTE, fixes=[ELSEWHERE])


def _missing(folder: Folder) -> Finding | None:
    """Say that TMPDIR names no folder: Python takes another one, and compilers fail."""
    if folder.use == "working folder" and folder.error_code == errno.ENOENT:
        message = (
            f"the working folder {folder.path} does not exist any more: os.getcwd() raises FileNotFoundError"
        )
        return check.found(
            message, severity=Severity.WARNING, fixes=[Fix("Go into a folder that is there, and start again")]
        )
    if folder.variable != "TMPDIR" or folder.error_code not in (errno.ENOENT, errno.ENOTDIR):
        return None
    message = f"TMPDIR is {folder.path}, and there is no such folder: nvcc and other compilers fail, Python takes /tmp"
    fixes = [Fix("Make it", "mkdir -p $TMPDIR"), Fix("Or do without", "unset TMPDIR")]
    return check.found(message, severity=Severity.WARNING, fixes=fixes)
