"""disk-full: seen in logs."""

MESSAGE = "the disk is full"
EXAMPLES = {
    "OSError: [Errno 28] No space left on device": MESSAGE,
    "[rank0]: OSError: [Errno 28] No space left on device: '/out/ckpt.pt'": (
        "the disk under /out/ckpt.pt is full"
    ),
    "RuntimeError: write(): fd 29 failed with No space left on device": MESSAGE,
    "safetensors_rust.SafetensorError: Error while serializing: I/O error: No space left on device (os error 28)": MESSAGE,
    "tee: train.log: No space left on device": MESSAGE,
    "Error response from daemon: write /var/lib/docker/tmp/a: no space left on device": MESSAGE,
    'SafetensorError: Error while serializing: IoError(Os { code: 28, kind: StorageFull, message: "full" })': MESSAGE,
    "OSError: [Errno 122] Disk quota exceeded: '/home/me/.triton/cache'": (
        "the disk under /home/me/.triton/cache is full, by the user's quota: Disk quota exceeded"
    ),
    "RuntimeError: [enforce fail at inline_container.cc:445] . PytorchStreamWriter failed writing file data/176: file write failed": (
        MESSAGE + " or went away while data/176 was written"
    ),
    "RuntimeError: [enforce fail at inline_container.cc:671] . unexpected pos 704 vs 598": MESSAGE,
    "OSError: Not enough disk space. Needed: 12.3 GiB (download: 4.1 GiB, generated: 8.2 GiB, post-processed: Unknown size)": (
        MESSAGE + ": 12.3 GiB are needed"
    ),
    (
        "UserWarning: Not enough free disk space to download the file. The expected file size is: 4943.16 MB. The target "
        "location /root/.cache only has 102.00 MB free disk space."
    ): MESSAGE + ": 4943.16 MB are needed",
    "OSError: 100000 requested and 83936 written": MESSAGE + ": 83936 of 100000 items could be written",
    "sqlite3.OperationalError: database or disk is full": MESSAGE,
    "FileNotFoundError: [Errno 2] No usable temporary directory found in ['/tmp', '/var/tmp', '/usr/tmp', '/out']": MESSAGE,
    "The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: 2Gi.": MESSAGE,
    "Pod ephemeral local storage usage exceeds the total limit of containers 10Gi.": MESSAGE,
    "RuntimeError: write(): fd 29 failed with Input/output error": MESSAGE,
}
NOT_THIS = [
    "RuntimeError: unable to write to file </torch_4711_12345>: No space left on device (28)",
    "NCCL WARN Error: failed to extend /dev/shm/nccl-abc to 9637892 bytes\nNCCL WARN posix_fallocate failed: No space left on device",
    (
        '  File "/opt/lib/multiprocessing/synchronize.py", line 57, in __init__\n    sl = self._semlock = _multiprocessing.SemLock(\n'
        "OSError: [Errno 28] No space left on device"
    ),
    "OSError: [Errno 28] No space left on device.  joblib will operate in serial mode",
    "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory",
]
