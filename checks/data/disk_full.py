"""A file system or a quota is full.

## What happens

"OSError: [Errno 28] No space left on device", "[Errno 122] Disk quota exceeded". `torch.save` does not say why: it
ends in "PytorchStreamWriter failed writing file data/176" or "unexpected pos 704 vs 598", and leaves a file that is
cut off, which is `checkpoint-corrupt` at the next start. numpy says "100000 requested and 83936 written".

## Why

- Checkpoints: the model, two more copies for Adam, for every step that is kept, often from every rank.
- Caches in the home directory: Hugging Face, Triton, torch's compiler, pip. Quotas of homes are small.
- /tmp of the node or container; the ephemeral storage of a pod.
- No inodes left: many small files fill a disk that `df -h` shows half empty.

The same words about `/dev/shm`, a semaphore or a shared memory segment are `shm-too-small`.

## How to tell

`df -h . /tmp ~` and `df -i .`, `quota -s`, on the node and inside the container; `du -sh ~/.cache/* ~/.triton`.

## See also

- [Hugging Face: manage the cache](https://huggingface.co/docs/huggingface_hub/guides/manage-cache): what takes the room, and how to delete it
- [LlamaFactory#1223](https://github.com/hiyouga/LlamaFactory/issues/1223): PytorchStreamWriter failed
"""

from gpudoctor import Check, Fix, Kind, Severity, Symptom

SHM = r"/dev/shm|ctx\.Lock\(|_rlock|/torch_\d+_|SemLock|shared memory segment|shared memory ?\(shm\)|joblib will operate|inotify|posix_fallocate|ftruncate|shm_open|shm\.h"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        Symptom(r"[Nn]o space left on device(?!: '/dev/shm)(?:: ['\"](?P<path>[^'\"]{1,300}))?", unless=SHM),
        Symptom(r"\bENOSPC\b|kind: StorageFull", unless=SHM),
        r"(?P<quota>Disk quota exceeded)(?:: ['\"](?P<path>[^'\"]{1,300}))?",
        r"write\(\): fd \d+ failed with (?:No space left|Input/output error)",  # until 1.5
        r"PytorchStreamWriter failed writing (?:file (?P<part>[\w./]+)|central directory)",
        r"inline_container\.cc:\d+\] \. unexpected pos \d+ vs \d+",
        r"Not enough disk space\. Needed: (?P<needed>[\d.]+ \w+)",
        r"Not enough free disk space to download the file\. The expected file size is: (?P<needed>[\d.]+ \w+)",
        r"\b(?P<asked>\d+) requested and (?P<written>\d+) written\b",  # numpy
        r"database or disk is full",
        r"No usable temporary directory found in",
        r"low on resource: ephemeral-storage",
        r"ephemeral local storage usage exceeds the total limit",
    ],
    message="the disk[ under <path>] is full[, by the user's quota: <quota>][: <needed> are needed][: <written> of <asked> items could be written][ or went away while <part> was written]",
    fixes=[
        Fix("See which file system it is, its inodes too", "df -h . /tmp ~; df -i . /tmp ~; quota -s"),
        Fix("See what takes the space in your home", "du -sh ~/.cache/* ~/.triton"),
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
    no_reproduction="not written yet",
)
