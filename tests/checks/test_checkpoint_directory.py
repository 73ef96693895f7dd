"""checkpoint-directory: seen in logs."""

from gpudoctor.logs.symptoms import matches
from gpudoctor.registry import Registry

CHECK = Registry().check("checkpoint-directory")
FRAME = '  File "/opt/venv/lib/python3.9/site-packages/torch/serialization.py", line 211, in __init__\n'
EXAMPLES = [
    "RuntimeError: Parent directory out/run1 does not exist.",
    "[rank0]: FileNotFoundError: [Errno 2] No such file or directory: 'checkpoints/last.pt'",
    "FileNotFoundError: [Errno 2] No such file or directory: 'model/tmp-checkpoint-49' -> 'model/checkpoint-49'",
    FRAME + "FileNotFoundError: [Errno 2] No such file or directory: 'out/best_model'",
    "IsADirectoryError: [Errno 21] Is a directory: '/data/run1/checkpoints'",
    FRAME + "IsADirectoryError: [Errno 21] Is a directory: '/data/run1'",
    "RuntimeError: [enforce fail at inline_container.cc:746] . open file failed with strerror: Permission denied",
    (
        "RuntimeError: [enforce fail at inline_container.cc:603] . open file failed because of errno 21 on fopen: Is a directory, "
        "file path: /data/run1"
    ),
    "RuntimeError: File out/model.pt cannot be opened.",
    "PermissionError: [Errno 13] Permission denied: '/data/run1/epoch_3.pth'",
    "FileExistsError: [Errno 17] File exists: './checkpoints'",
    (
        '  File "/opt/lib/python3.10/os.py", line 225, in makedirs\n    mkdir(name, mode)\n'
        "FileExistsError: [Errno 17] File exists: '/data/output/run1'"
    ),
    "OSError: [Errno 39] Directory not empty: '/data/results/tmp-checkpoint-s0y' -> '/data/results/checkpoint-50'",
    "ValueError: No valid checkpoint found in output directory (./outputs)",
    "ValueError: Can't find a valid checkpoint at ./run1/step-1500",
    (
        "OSError: Error no file named pytorch_model.bin, model.safetensors, tf_model.h5 or flax_model.msgpack found in directory "
        "/data/run1."
    ),
    "huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': '/data/run1'.",
    "OSError: ./out/run1 is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'",
    (
        "[WARNING] [engine.py:2796:load_checkpoint] Unable to find latest file at out/latest, if trying to load latest checkpoint "
        "please ensure this file exists or pass an explicit checkpoint tag when loading a checkpoint."
    ),
    "[WARNING] [engine.py:2500:load_checkpoint] Client provided checkpoint load path: out/step5 does not exist ... skip checkpoint load",
    "FileNotFoundError: Checkpoint file not found: /data/last",
    "FileNotFoundError: Checkpoint at out/last not found. Aborting training.",
    "ValueError: Tried to find out/state_3 but folder does not exist",
    "ValueError: Checkpoint directory out/saved_0 (0) already exists. Please manually override `self.save_iteration` with what",
    "OSError: work_dirs/latest is not a checkpoint file",
    "FileNotFoundError: weights/r50.pth can not be found.",
    "AssertionError: Checkpoint out/final not found!",
]
NOT_THIS = [
    "FileNotFoundError: [Errno 2] No such file or directory: '/data/train/img_0001.jpg'",
    "RuntimeError: [enforce fail at inline_container.cc:603] . open file failed with strerror: No space left on device",
    "UserWarning: Checkpoint directory /data/checkpoints exists and is not empty.",
    "Could not load library libcudnn_cnn_infer.so.8. Error: libcuda.so: cannot open shared object file: No such file or directory",
    "[Errno 13] Permission denied: '/data/train'",
    "bash: /data/run.sh: No such file or directory",
    "FileNotFoundError: [Errno 2] No such file or directory: 'nvcc'",
]


def said(text):
    return matches(text, [CHECK])[0].finding


def test_it_says_what_is_wrong_with_the_path():
    assert (
        said(EXAMPLES[0]).message == "out/run1 is not there, or holds no checkpoint, where this process looks"
    )
    assert said(EXAMPLES[5]).message == "/data/run1 is a folder, where a file is meant"
    assert said(EXAMPLES[6]).message == "the path may not be written by this process"
    assert said(EXAMPLES[10]).message.startswith("./checkpoints was made or moved by another rank")


def test_the_fixes_go_with_it():
    assert "makedirs" in said(EXAMPLES[1]).fixes[0].command
    assert "transformers" in said(EXAMPLES[2]).fixes[1].command
    assert "os.path.join" in said(EXAMPLES[4]).fixes[0].command
    assert "ls -ld" in said(EXAMPLES[9]).fixes[0].command
