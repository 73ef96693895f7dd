"""checkpoint-corrupt: seen in logs and in files."""

from gpudoctor.facts import CheckpointFile
from gpudoctor.model import Source
from gpudoctor.registry import Registry

FRAME = '  File "/opt/venv/lib/python3.10/site-packages/torch/serialization.py", line 1040, in _legacy_load\n'
MESSAGE = "the file is damaged or incomplete"
EXAMPLES = {
    'RuntimeError: invalid hash value (expected "0a1b2c3d", got "99ff00aa")': (
        "the file is damaged or incomplete: invalid hash value"
    ),
    'File "tools/restore.py", line 12, in open_weights\n    ZipFile("out/last.ckpt")\n'
    "zipfile.BadZipFile: File is not a zip file": MESSAGE + ": File is not a zip file",
    "RuntimeError: PytorchStreamReader": "the file is damaged or incomplete",
    "RuntimeError: unexpected EOF. The file might be corrupted.": "the file is damaged or incomplete: unexpected EOF",
    (
        "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory. This is an internal "
        "miniz error."
    ): MESSAGE + ": reading zip archive: failed finding central directory",
    (
        "[rank3]: RuntimeError: [enforce fail at inline_container.cc:145] . PytorchStreamReader failed reading zip archive: "
        "failed finding central directory"
    ): MESSAGE + ": reading zip archive: failed finding central directory",
    "RuntimeError: PytorchStreamReader failed reading file data/176: invalid header or archive is corrupted": (
        MESSAGE + ": reading file data/176: invalid header or archive is corrupted"
    ),
    "RuntimeError: PytorchStreamReader failed": MESSAGE,
    "RuntimeError: unexpected EOF, expected 3302 more bytes. The file might be corrupted.": (
        MESSAGE + ": unexpected EOF; 3302 bytes are missing"
    ),
    "_pickle.UnpicklingError: pickle data was truncated": MESSAGE + ": pickle data was truncated",
    '  "name": "UnpicklingError",\n  "message": "invalid load key, \'\\\\x0a\'.",': MESSAGE
    + ": invalid load key, '\\\\x0a'",
    "_pickle.UnpicklingError: invalid load key, '\\x00'.": MESSAGE + ": invalid load key, '\\x00'",
    FRAME + "EOFError: Ran out of input": MESSAGE + ": Ran out of input",
    (
        '  File "/opt/venv/lib/python3.11/site-packages/torch/_weights_only_unpickler.py", line 387, in load\n    raise EOFError\n'
        "EOFError"
    ): MESSAGE,
    (
        '  File "/opt/venv/lib/python3.11/site-packages/torch/_weights_only_unpickler.py", line 467, in load\n'
        "    self.append(self.memo[next(read(1))])\nKeyError: 101"
    ): MESSAGE + ": KeyError: 101",
    (
        '  File "/opt/venv/lib/python3.12/site-packages/torch/serialization.py", line 808, in __init__\n'
        "    super().__init__(torch._C.PyTorchFileReader(name_or_buffer))\nOSError: [Errno 22] Invalid argument"
    ): MESSAGE + ": [Errno 22] Invalid argument",
    "RuntimeError: storage has wrong byte size: expected 4096 got 512": MESSAGE,
    "RuntimeError: Invalid magic number; corrupt file?": MESSAGE + ": Invalid magic number; corrupt file",
    "RuntimeError: Invalid protocol version: 1002": MESSAGE + ": Invalid protocol version: 1002",
    "KeyError: \"filename 'storages' not found\"": MESSAGE,
    (
        "_pickle.UnpicklingError: Weights only load failed. This file can still be loaded\n\tWeightsUnpickler error: \n\n"
        "Unsupported operand 111"
    ): MESSAGE + ": Unsupported operand 111",
    "safetensors_rust.SafetensorError: Error while deserializing header: InvalidHeaderDeserialization": (
        MESSAGE + ": InvalidHeaderDeserialization"
    ),
    "_pickle.UnpicklingError: Memo value not found at index 101": MESSAGE
    + ": Memo value not found at index 101",
    "[rank0]: RuntimeError: record size (1200000 bytes) does not match expected size (800000 bytes = 800000 elements * 1 bytes/element) for dtype Byte": (
        "the file is a mixture of two saves: a tensor of 800000 bytes has a record of 1200000 bytes; mostly all ranks save "
        "under one name"
    ),
    "safetensors._safetensors_rust.SafetensorError: Error while deserializing header: incomplete metadata, file not fully covered": (
        MESSAGE + ": incomplete metadata, file not fully covered"
    ),
    (
        "OSError: Unable to load weights from pytorch checkpoint file for '/data/m/pytorch_model.bin' at "
        "'/data/m/pytorch_model.bin'. If you tried to load a PyTorch model from a TF 2.0 checkpoint, please set from_tf=True."
    ): MESSAGE,
    "OSError: Consistency check failed: file should be of size 4943162336 but has size 1048576 (model-00001-of-00002.safetensors).": (
        MESSAGE + ": 1048576 of 4943162336 bytes"
    ),
    "TypeError: ERROR best.pt is not a loadable checkpoint — the file is empty, truncated or corrupted (EOFError).": (
        "the file is damaged or incomplete: empty, truncated or corrupted"
    ),
    "SafetensorsParsingError: Failed to parse safetensors header for 'w.safetensors' (path '/srv'): file is truncated. Expected 16 bytes": (
        "the file is damaged or incomplete: file is truncated"
    ),
    "RuntimeError: Expert checkpoint file is corrupt: expected 2D tensor for 'up.weight'": (
        "the file is damaged or incomplete: expected 2D tensor for"
    ),
    'RuntimeError: invalid hash value (expected "5c106cde", got "9f2b1c77a0")': "the file is damaged or incomplete: invalid hash value",
    "EOFError: Ran out of input": "the file is damaged or incomplete",
}
NOT_THIS = [
    'data = np.load("train/images.npz")\nzipfile.BadZipFile: File is not a zip file',
    "  File \"fairseq/distributed_utils.py\", line 177, in all_gather_list\n_pickle.UnpicklingError: invalid load key, '\\xe2'.",
    (
        '  File "/opt/lib/python3.10/multiprocessing/spawn.py", line 126, in _main\n    self = reduction.pickle.load(from_parent)\n'
        "EOFError: Ran out of input"
    ),
    (
        '  File "<string>", line 1, in <module>\n  File "/opt/lib/python3.10/multiprocessing/spawn.py", line 116, in spawn_main\n'
        "_pickle.UnpicklingError: pickle data was truncated"
    ),
    "EOFError",
    "KeyError: 101",
    "_pickle.UnpicklingError: invalid load key, '<'.",
    "_pickle.UnpicklingError: invalid load key, '\\x1f'.",
    "_pickle.UnpicklingError: Weights only load failed.\n\tWeightsUnpickler error: \n\nUnsupported operand 118",
    "safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge",
    "RuntimeError: PytorchStreamReader failed locating file constants.pkl: file not found",
    "_pickle.UnpicklingError: Weights only load failed.\n\tWeightsUnpickler error: \n\nUnsupported operand 149",
    "FileNotFoundError: [Errno 2] No such file or directory: 'last.pt'",
    "safetensors_rust.SafetensorError: device cuda:3 is invalid",
]


def test_what_is_wrong_with_a_file_is_quoted():
    look = Registry().check("checkpoint-corrupt").functions[Source.CHECKPOINT]
    (finding,) = look(CheckpointFile(path="m.pt", kind="torch zip", trouble=("storage 3 is missing", "more")))
    assert finding.message == "the file is damaged or incomplete: storage 3 is missing and 1 more fault"
    assert [evidence.text for evidence in finding.evidence] == ["more"]
    assert list(look(CheckpointFile(path="m.pt", kind="torch zip"))) == []


def test_what_is_no_checkpoint_at_all_is_another_check():
    look = Registry().check("checkpoint-corrupt").functions[Source.CHECKPOINT]
    page = "it is a web page, as a download that failed leaves it"
    assert list(look(CheckpointFile(path="m.pt", kind="unknown", trouble=(page,)))) == []
