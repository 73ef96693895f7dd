"""The checkpoint file is damaged, cut off, or no checkpoint at all.

## What happens

"PytorchStreamReader failed reading zip archive: failed finding central directory", "unexpected EOF, expected 3302 more
bytes. The file might be corrupted", "invalid load key, '<'", or of safetensors "Error while deserializing header".

## Why

- The job was killed, or the disk was full, while the file was written.
- Several ranks wrote the same file, or one reads it while rank 0 still writes.
- A download broke off, or brought an error page: the file begins with `<`.
- It is git-lfs's pointer, a text of three lines that begins with `version https://git-lfs`: the key is `v`.

## How to tell

`ls -l model.pt` shows a size of nothing or of a few hundred bytes, or one that differs from an earlier checkpoint.
`head -c 100 model.pt` shows a text where `PK` should stand. `python -m zipfile -l model.pt | tail -1` fails on a file
that is cut off. If only one rank fails, it read too early.

## See also

- [Serialization semantics](https://docs.pytorch.org/docs/stable/notes/serialization.html): the file format
- [nerfstudio#2202](https://github.com/nerfstudio-project/nerfstudio/issues/2202): a file that was cut off
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import CheckpointFile

# A spawned worker whose parent died finds no pickle either.
SPAWN = r"spawn_main|multiprocessing[/\\](?:spawn|popen|forkserver|connection|queues)"
LOADING = r"torch[/\\](?:_weights_only_unpickler|serialization|hub)\.py|torch\.load\(|torch[/\\]distributed[/\\]checkpoint"

check = Check(
    severity=Severity.ERROR,
    follows=["disk-full"],
    symptoms=[
        # constants.pkl is missing from what torch.save wrote and torch.jit.load is asked to read: nothing is damaged
        r"PytorchStreamReader failed (?P<what>(?!locating file constants\.pkl)[\w ./-]{3,120}: [\w -]{3,60})",
        r"PytorchStreamReader failed(?! [\w ./-]{3,120}: [\w -]{3,60})",
        r"(?P<what>unexpected EOF), expected (?P<missing>\d+) more bytes\. The file might be corrupted",
        Symptom(r"UnpicklingError: (?P<what>pickle data was truncated)", unless=SPAWN),
        Symptom(r"UnpicklingError: (?P<what>invalid load key, .{1,12}?)\.? *$", unless=SPAWN),
        Symptom(r"EOFError: (?P<what>Ran out of input)", near=LOADING, unless=SPAWN),
        Symptom(
            r"EOFError *$", near=r"torch[/\\](?:_weights_only_unpickler|serialization)\.py", unless=SPAWN
        ),
        r"storage has wrong (?:byte )?size: expected -?\d+ got -?\d+",
        r"RuntimeError: (?P<what>Invalid magic number; corrupt file)",
        r"RuntimeError: (?P<what>Invalid protocol version: \d+)",
        r"KeyError: .{0,3}filename 'storages' not found",
        # an opcode below 128 is text: < of a web page, v of git-lfs's pointer, { of JSON
        Symptom(
            r"(?P<what>Unsupported operand (?:\d{1,2}|1[01]\d|12[0-7]))\b", near=r"WeightsUnpickler error"
        ),
        r"Error while deserializing header: (?P<what>\w[\w ,]{3,80})",  # safetensors
        # transformers and its hub
        Symptom(
            r"Unable to load weights from pytorch checkpoint file for",
            unless=r"Weights only load failed|out of memory|vulnerability issue",
        ),
        r"You seem to have cloned a repository without having git-lfs installed",
        r"Consistency check failed: file should be of size (?P<expected>\d+) but has size (?P<actual>\d+)",
    ],
    message="the file is damaged, incomplete or no checkpoint[: <what>][; <missing> bytes are missing][: <actual> of <expected> bytes]",
    fixes=[
        Fix("Go back to the checkpoint before, or fetch this one again", "ls -lt FOLDER"),
        Fix("Fetch what git-lfs has left out", "git lfs install && git lfs pull"),
        Fix(
            "See what broke off while it was downloaded; remove that file, and it is fetched anew",
            "ls -l ~/.cache/torch/hub/checkpoints ~/.cache/huggingface/hub",
        ),
        Fix(
            "Write on rank 0 alone, under another name first; let the others wait before they read",
            'if dist.get_rank() == 0:\n    torch.save(state, "last.pt.tmp")\n    os.replace("last.pt.tmp", "last.pt")\n'
            "dist.barrier()",
            Kind.EDIT,
        ),
    ],
    no_reproduction="not written yet",
)


@check.checkpoint
def checkpoint(file: CheckpointFile) -> Iterator[Finding]:
    """What is wrong with the file as a container: cut off, records missing or of another size, wrong checksums."""
    if not file.trouble:
        return
    more = f" (and {len(file.trouble) - 1} more)" if len(file.trouble) > 1 else ""
    said = f"the file is damaged or incomplete: {file.trouble[0]}{more}"
    yield check.found(said, evidence=file.trouble[1:6])
