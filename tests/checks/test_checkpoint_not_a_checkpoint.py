"""checkpoint-not-a-checkpoint: seen in logs and in files."""

import pickletools
import re

import pytest

from gpudoctor.facts import CheckpointFile
from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Source
from gpudoctor.registry import Registry

CHECK = Registry().check("checkpoint-not-a-checkpoint")
MESSAGE = "the file is no checkpoint"
POINTER = MESSAGE + " but a pointer of Git LFS, and the file itself was not fetched"
WEIGHTS_ONLY = (
    "_pickle.UnpicklingError: Weights only load failed. In PyTorch 2.6, we changed the default value of the `weights_only` "
    "argument in `torch.load` from `False` to `True`. Re-running `torch.load` with `weights_only` set to `False` will likely "
    "succeed, but it can result in arbitrary code execution.\n Please file an issue with the following so that we can make "
    "`weights_only=True` compatible with your use case: WeightsUnpickler error: \n\nUnsupported operand {}\n\nCheck the "
    "documentation of torch.load to learn more about types accepted by default with weights_only https://pytorch.org/docs"
)
EXAMPLES = {
    "RuntimeError: [enforce fail at inline_container.cc:179] . file in archive is not in a subdirectory: w.npy": (
        MESSAGE + " of torch.save but another zip archive: it holds w.npy, as numpy.savez writes it"
    ),
    "RuntimeError: [enforce fail at inline_container.cc:197] . file in archive is not in a subdirectory: README.md": (
        MESSAGE + " of torch.save but another zip archive: it holds README.md"
    ),
    WEIGHTS_ONLY.format(118): POINTER,
    WEIGHTS_ONLY.format(60): MESSAGE + " but a web page or XML: it begins with <",
    WEIGHTS_ONLY.format(123): MESSAGE + " but text: it begins with {",
    WEIGHTS_ONLY.format(31): MESSAGE + " as it is: it is packed with gzip",
    '  "name": "UnpicklingError",\n  "message": "invalid load key, \'v\'.",': POINTER,
    "_pickle.UnpicklingError: invalid load key, 'v'.": POINTER,
    "[rank0]: _pickle.UnpicklingError: invalid load key, '<'.": MESSAGE
    + " but a web page or XML: it begins with <",
    "_pickle.UnpicklingError: invalid load key, '\\x1f'.": MESSAGE + " as it is: it is packed with gzip",
    "safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge": (
        MESSAGE
        + " of safetensors: it begins with text or with another format, mostly a pointer of Git LFS or a web page"
    ),
    "safetensors._safetensors_rust.SafetensorError: Error while deserializing header: header too large": (
        MESSAGE
        + " of safetensors: it begins with text or with another format, mostly a pointer of Git LFS or a web page"
    ),
    (
        "OSError: You seem to have cloned a repository without having git-lfs installed. Please install git-lfs and run `git lfs "
        "install` followed by `git lfs pull` in the folder you cloned."
    ): POINTER,
}
NOT_THIS = [
    WEIGHTS_ONLY.format(149),
    WEIGHTS_ONLY.format(111),
    "_pickle.UnpicklingError: invalid load key, '\\x00'.",
    (
        '  File "/opt/lib/python3.10/multiprocessing/spawn.py", line 116, in spawn_main\n'
        "_pickle.UnpicklingError: invalid load key, 'v'."
    ),
    "safetensors_rust.SafetensorError: Error while deserializing header: incomplete metadata, file not fully covered",
]
OPCODES = {opcode.code for opcode in pickletools.opcodes}
[BY_NUMBER] = [symptom for symptom in CHECK.symptoms if symptom.pattern.startswith("Unsupported operand")]
PRINTABLE = [chr(number) for number in range(33, 127)]


@pytest.mark.parametrize("first", PRINTABLE)
def test_a_character_that_no_pickle_begins_with_is_told_by_number_and_by_itself(first):
    alone = re.search(BY_NUMBER.pattern, f"Unsupported operand {ord(first)}")
    assert (alone is None) == (first in OPCODES)
    assert bool(matches(f"_pickle.UnpicklingError: invalid load key, '{first}'.", [CHECK])) == (
        first not in OPCODES
    )


def test_the_fix_is_never_to_run_what_the_file_says():
    for text in EXAMPLES:
        ((finding,),) = [[seen.finding for seen in matches(text, [CHECK])]]
        assert not any("weights_only=False" in fix.command for fix in finding.fixes)


def test_a_pointer_and_a_page_in_a_file():
    look = CHECK.functions[Source.CHECKPOINT]
    pointer = "it is git-lfs's pointer to the file, and not the file"
    (finding,) = look(CheckpointFile(path="m.pt", kind="unknown", trouble=(pointer,)))
    assert finding.message == f"the file is no checkpoint: {pointer}"
    assert finding.fixes[0].command == "git lfs install && git lfs pull"
    (finding,) = look(
        CheckpointFile(path="m.pt", kind="unknown", trouble=("it is a web page, as a download",))
    )
    assert "curl --fail" in finding.fixes[-1].command
    assert list(look(CheckpointFile(path="m.pt", kind="torch zip", trouble=("storage 3 is missing",)))) == []
    assert list(look(CheckpointFile(path="m.pt", kind="torch zip"))) == []
