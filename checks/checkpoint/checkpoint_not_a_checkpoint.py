r"""The file is no checkpoint but a pointer of Git LFS, a web page or a text.

## What happens

torch says "Weights only load failed" and below it "Unsupported operand 118", with `weights_only=False` "invalid load key,
'v'"; safetensors says "header too large". The number is the file's first character, and the key is that character.

## Why

| first character | as a number | what the file is |
|---|---|---|
| `v` | 118 | a pointer of Git LFS: three lines of text that begin with `version https://git-lfs`; the file itself was not fetched |
| `<` | 60 | a web page: a login, an error, or GitHub's page about the file instead of the file |
| `{` | 123 | JSON: the server's error, or an index or configuration |
| `\x1f` | 31 | a file that is packed with gzip |
| another letter | | a text: "Entry not found", "Access denied" |

torch's message proposes `weights_only=False`. That cannot help: no pickle begins so.

## How to tell

`ls -l FILE` shows some hundred bytes where there should be many millions. `head -c 200 FILE` shows the text.
`gpudoctor checkpoint inspect FILE` names the kind.

## See also

- [git lfs pull](https://github.com/git-lfs/git-lfs/blob/main/docs/man/git-lfs-pull.adoc): fetches the files that the pointers name
- [Hugging Face: download files](https://huggingface.co/docs/huggingface_hub/guides/download): hf_hub_download, snapshot_download
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom
from gpudoctor.facts import CheckpointFile

# Printable characters with which no pickle begins, and gzip's first byte; the others may be a damaged pickle.
OPERAND = r"(?:3[1-9]|4[2-57]|5[1-9]|6[0-589]|72|79|87|89|9[0-24-6]|1(?:02|07|09|10|1[89]|2[0-4]|26))"
KEY = r"[!-',+/3-ADEHOWYZ\\\[^_`fkmnv-z{|~*-]|\\x1f"
# A spawned worker whose parent died finds no pickle either.
SPAWN = r"spawn_main|multiprocessing[/\\](?:spawn|popen|forkserver|connection|queues)"
POINTER = "it is git-lfs's pointer"
PAGE = "it is a web page"
LFS = Fix(
    "Fetch the file itself, in the folder that was cloned (`git lfs install` once per user)",
    "git lfs install && git lfs pull",
)
FIRST = Fix("See what the file is", "ls -l FILE; head -c 200 FILE")
HUB = Fix(
    "From Hugging Face: download with its own tool, which fetches the file and not a page about it",
    "hf download OWNER/MODEL --local-dir MODEL",
)
AGAIN = Fix(
    "Download it again, and let an error be an error",
    "curl --fail --location --output FILE URL",
)
NUMPY = Fix(
    "Read it with NumPy",
    'state = {name: torch.from_numpy(array) for name, array in np.load("FILE").items()}',
    Kind.EDIT,
    source="https://numpy.org/doc/stable/reference/generated/numpy.savez.html",
)
UNPACK = Fix("Unpack it", "gunzip -c FILE > model.pt")

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        rf"Unsupported operand (?P<operand>{OPERAND})\b",
        # the line that names the exception; some blank ones stand between
        Symptom(r"Weights only load failed", near=rf"Unsupported operand (?P<operand>{OPERAND})\b"),
        Symptom(rf"(?:UnpicklingError: |\"message\": \")invalid load key, '(?P<key>{KEY})'", unless=SPAWN),
        r"Error while deserializing header: (?P<header>[Hh]eader ?[Tt]oo ?[Ll]arge)",
        r"inline_container\.cc:\d+\] \. file in archive is not in a subdirectory: (?P<member>\S+)",
        r"You seem to have cloned a repository without having (?P<lfs>git-lfs) installed",
    ],
    fixes=[FIRST, LFS, HUB, AGAIN],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Read the first character."""
    seen = sighting.groups
    first = chr(int(seen["operand"])) if "operand" in seen else seen.get("key", "")
    said = "the file is no checkpoint"
    if "lfs" in seen or first == "v":
        yield check.found(
            f"{said} but a pointer of Git LFS, and the file itself was not fetched", fixes=[LFS, HUB]
        )
    elif first == "<":
        yield check.found(f"{said} but a web page or XML: it begins with <", fixes=[FIRST, HUB, AGAIN])
    elif first in ("\x1f", "\\x1f"):
        yield check.found(f"{said} as it is: it is packed with gzip", fixes=[UNPACK, FIRST])
    elif "member" in seen:
        of_numpy = seen["member"].endswith(".npy")
        yield check.found(
            f"{said} of torch.save but another zip archive: it holds {seen['member']}"
            + (", as numpy.savez writes it" if of_numpy else ""),
            fixes=[NUMPY, FIRST] if of_numpy else [FIRST, AGAIN],
        )
    elif "header" in seen:
        yield check.found(
            f"{said} of safetensors: it begins with text or with another format, mostly a pointer of Git LFS or a web page"
        )
    else:
        yield check.found(f"{said} but text: it begins with {first}", fixes=[FIRST, AGAIN, LFS])


@check.checkpoint
def checkpoint(file: CheckpointFile) -> Iterator[Finding]:
    """A pointer or a page that stands where a checkpoint should be."""
    for trouble in file.trouble:
        if trouble.startswith((POINTER, PAGE)):
            fixes = [LFS, HUB] if trouble.startswith(POINTER) else [FIRST, HUB, AGAIN]
            yield check.found(f"the file is no checkpoint: {trouble}", fixes=fixes)
