"""The checkpoint file is damaged, cut off, or written by several processes at once.

## What happens

"PytorchStreamReader failed reading zip archive: failed finding central directory", "unexpected EOF, expected 3302 more
bytes. The file might be corrupted", "record size (1200000 bytes) does not match expected size", "pickle data was
truncated", or of safetensors "Error while deserializing header: incomplete metadata, file not fully covered".

## Why

- The job was killed, or the disk was full, while the file was written. A download broke off.
- All ranks save under one name: `torch.save` without `if rank == 0:`. One writes over what another has begun, and the
  file is a mixture. Where two saves differ in size, torch says "record size ... does not match expected size".
- One rank reads while rank 0 still writes.

A web page or a pointer of Git LFS under the name of a checkpoint is `checkpoint-not-a-checkpoint`.

## How to tell

`ls -l FILE` shows a size of nothing, or one that differs from an earlier checkpoint. `gpudoctor checkpoint inspect FILE`
says where it ends or what does not fit, and `python -m zipfile -l FILE | tail -1` fails on a file that is cut off. If it
fails now and then, or on one rank only, several wrote or one read too early.

## See also

- [Serialization semantics](https://docs.pytorch.org/docs/stable/notes/serialization.html): the file format
- [DDP tutorial](https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html#save-and-load-checkpoints): save on one
  rank, load behind a barrier
- [nerfstudio#1117](https://github.com/nerfstudio-project/nerfstudio/issues/1117): a download that was cut off
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom, listed
from gpudoctor.facts import CheckpointFile
from gpudoctor.wordings import A_FRAME

# A spawned worker whose parent died finds no pickle either, nor does a rank that gathers from others which do something else.
SPAWN = r"spawn_main|multiprocessing[/\\](?:spawn|popen|forkserver|connection|queues)|in all_gather_list\b"
LOADING = r"torch[/\\](?:_weights_only_unpickler|serialization|hub)\.py|torch\.load\(|torch[/\\]distributed[/\\]checkpoint"
# Characters with which no pickle begins, by number and by themselves: checkpoint-not-a-checkpoint.
TEXT = r"(?:3[1-9]|4[2-57]|5[1-9]|6[0-589]|72|79|87|89|9[0-24-6]|1(?:02|07|09|10|1[89]|2[0-4]|26))"
KEY = r"[!-',+/3-ADEHOWYZ\\\[^_`fkmnv-z{|~*-]'|\\x1f"
NO_CHECKPOINT = ("it is git-lfs's pointer", "it is a web page")
BEFORE = Fix("Go back to the checkpoint before: see which there are", "ls -lt FOLDER")
LOOK = Fix(
    "See what is wrong with it, and whether it can be read at all", "gpudoctor checkpoint inspect FILE"
)
ONE_WRITER = Fix(
    "Write on rank 0 alone, under another name first; let the others wait before they read",
    'if dist.get_rank() == 0:\n    torch.save(state, "last.pt.tmp")\n    os.replace("last.pt.tmp", "last.pt")\n'
    "dist.barrier()",
    Kind.EDIT,
    proof="os.replace(",
)
FETCH = Fix(
    "A download that broke off: find that file and remove it, and it is fetched again",
    "ls -l ~/.cache/torch/hub/checkpoints ~/.cache/huggingface/hub",
)

check = Check(
    severity=Severity.ERROR,
    follows=["disk-full", "checkpoint-all-ranks"],
    symptoms=[
        # constants.pkl is missing from what torch.save wrote and torch.jit.load is asked to read: nothing is damaged
        r"PytorchStreamReader failed (?P<what>(?!locating file constants\.pkl)[\w ./-]{3,120}: [\w -]{3,60})",
        r"PytorchStreamReader failed(?! [\w ./-]{3,120}: [\w -]{3,60})",
        r"RuntimeError: PytorchStreamReader *$",  # cut off
        r"(?P<what>unexpected EOF), expected (?P<missing>\d+) more bytes\. The file might be corrupted",
        r"RuntimeError: (?P<what>unexpected EOF)\. The file might be corrupted",  # 0.4
        Symptom(r"UnpicklingError: (?P<what>pickle data was truncated)", unless=SPAWN),
        # as a notebook of VS Code copies it: "name": "UnpicklingError", "message": "…"
        Symptom(
            rf"(?:UnpicklingError: |\"message\": \")(?P<what>invalid load key, '(?!{KEY}).{{1,12}}?')\.?(?:\",)?\W*$",
            unless=SPAWN,
        ),
        # not torch's reader but a program's own, that looked into the file first
        Symptom(
            r"(?:zipfile\.)?BadZip[Ff]ile: (?P<what>File is not a zip file)",
            near=r"\.(?:pth?|ckpt|bin)\b|torch\.load\b|torch[/\\]serialization\.py",
        ),
        Symptom(r"EOFError: (?P<what>Ran out of input)", near=LOADING, unless=SPAWN),
        Symptom(
            r"EOFError *$", near=r"torch[/\\](?:_weights_only_unpickler|serialization)\.py", unless=SPAWN
        ),
        r"storage has wrong (?:byte )?size: expected -?\d+ got -?\d+",
        r"RuntimeError: (?P<what>Invalid magic number; corrupt file)",
        r"RuntimeError: (?P<what>Invalid protocol version: \d+)",
        r"KeyError: .{0,3}filename 'storages' not found",
        # what is below 128 and no text may be an old pickle that is cut off
        Symptom(
            rf"(?P<what>Unsupported operand (?!{TEXT}\b)(?:\d{{1,2}}|1[01]\d|12[0-7]))\b",
            near=r"WeightsUnpickler error",
        ),
        Symptom(
            r"Weights only load failed",
            near=rf"(?P<what>Unsupported operand (?!{TEXT}\b)(?:\d{{1,2}}|1[01]\d|12[0-7]))\b",
        ),
        Symptom(
            r"(?P<what>KeyError: \d{1,3}) *$", near=r"_weights_only_unpickler\.py\"?, line \d+, in load\b"
        ),
        Symptom(
            r"UnpicklingError: (?P<what>Memo value not found at index -?\d+|could not find MARK|unpickling stack underflow)",
            unless=SPAWN,
        ),
        r"RuntimeError: record size \((?P<record>\d+) bytes\) does not match expected size \((?P<size>\d+) bytes",
        r"Error while deserializing header: (?P<what>(?![Hh]eader ?[Tt]oo ?[Ll]arge|.{0,160}\(os error)\w[\w ,]{3,80})",  # safetensors
        # transformers and its hub
        Symptom(
            r"Unable to load weights from pytorch checkpoint file for",
            unless=r"Weights only load failed|out of memory|vulnerability issue",
        ),
        r"Consistency check failed: file should be of size (?P<expected>\d+) but has size (?P<actual>\d+)",
        # torch.hub, of what it downloaded: its name holds the beginning of its hash
        r"RuntimeError: (?P<what>invalid hash value) \(expected \"\w+\", got \"\w+\"\)",
        # torch 2.15, of a file that was cut off: the zip archive's directory would begin before it
        Symptom(r"OSError: (?P<what>\[Errno 22\] Invalid argument) *$", near=r"PyTorchFileReader\("),
        r"is not a loadable checkpoint \W{1,4}the file is (?P<what>empty, truncated or corrupted)",  # Ultralytics
        r"Failed to parse safetensors header for .{1,300}\): (?P<what>[\w -]{4,80})",
        r"checkpoint file is corrupt: (?P<what>[\w ]{3,59}\w)",
        Symptom(
            r"EOFError: Ran out of input", unless=rf"{A_FRAME}|multiprocessing|spawn|[Ww]orker|from_parent"
        ),
        r"invalid hash value \(expected \W?\w{6,}",  # torch.hub
    ],
    fixes=[BEFORE, LOOK, ONE_WRITER, FETCH],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say what is wrong with the file."""
    seen = sighting.groups
    if "record" in seen:
        said = (
            f"the file is a mixture of two saves: a tensor of {seen['size']} bytes has a record of {seen['record']} bytes; "
            "mostly all ranks save under one name"
        )
        yield check.found(said, fixes=[ONE_WRITER, BEFORE, LOOK])
        return
    said = "the file is damaged or incomplete"
    said += f": {seen['what']}" if "what" in seen else ""
    said += f"; {seen['missing']} bytes are missing" if "missing" in seen else ""
    said += f": {seen['actual']} of {seen['expected']} bytes" if "actual" in seen else ""
    yield check.found(said)


@check.checkpoint
def checkpoint(file: CheckpointFile) -> Iterator[Finding]:
    """What is wrong with the file as a container: cut off, records missing or of another size, wrong checksums."""
    if not file.trouble or file.trouble[0].startswith(NO_CHECKPOINT):
        return
    said = f"the file is damaged or incomplete: {listed(file.trouble, 1, show=str, noun='fault')}"
    yield check.found(said, evidence=file.trouble[1:6])
