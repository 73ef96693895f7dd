"""extension-lock: seen in logs."""

FOLDER = "/home/me/.cache/torch_extensions/py311_cu128"
ROOT = f"Using {FOLDER} as PyTorch extensions root..."
MESSAGE = f"the log ends where torch waits for an extension in {FOLDER}: a lock that was left there stops it, or it compiles"
EXAMPLES = {
    f"Loading the model\n{ROOT}\n{ROOT}\n": MESSAGE,
    "Warning: Lock file exists in build directory: '/home/me/.cache/torch_extensions/py39_cu113/plugin/lock'": (
        "a lock stops the start: /home/me/.cache/torch_extensions/py39_cu113/plugin/lock; whoever made it may be gone"
    ),
    'UserWarning: Waited on lock file "/tmp/ext/fused/lock" for 300 seconds.': (
        "a lock stops the start: /tmp/ext/fused/lock; whoever made it may be gone"
    ),
    '  File "/env/lib/python3.12/site-packages/torch/utils/file_baton.py", line 50, in wait\n    time.sleep(self.wait_seconds)': (
        "torch waits for the lock of an extension, and whoever made it may be gone"
    ),
}
NOT_THIS = [
    f"{ROOT}\nEmitting ninja build file {FOLDER}/fused_adam/build.ninja...\nLoading extension module fused_adam...",
    f"{ROOT}\nTime to load fused_adam op: 0.1 seconds\nepoch 1 loss 2.3",
    f"{ROOT}\nValueError: optimizer got an empty parameter list",
]
