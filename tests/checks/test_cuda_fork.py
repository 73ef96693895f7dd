"""cuda-fork: seen in logs."""

MESSAGE = (
    "a process was forked after CUDA was used, and the child uses it too: its copy of CUDA does not work"
)
EXAMPLES = {
    (
        "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' "
        "start method"
    ): MESSAGE,
    (
        "RuntimeError: Caught RuntimeError in DataLoader worker process 0.\nOriginal Traceback (most recent call last):\n"
        "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use Python 3.4+ "
        "and the 'spawn' start method"
    ): MESSAGE,
    "RuntimeError: Cannot re-initialize XPU in forked subprocess.": MESSAGE,
    (
        "RuntimeError: CUDA has been initialized before the `notebook_launcher` could create a forked subprocess. This likely "
        "stems from an outside import"
    ): MESSAGE,
    "RuntimeError: Lightning can't create new processes if CUDA is already initialized. Did you manually call `torch.cuda.*`": MESSAGE,
    (
        "ValueError: To launch a multi-GPU training from your notebook, the `Accelerator` should only be initialized inside your "
        "training function. Restart your notebook"
    ): MESSAGE,
    (
        "RuntimeError: Caught RuntimeError in DataLoader worker process 2.\nOriginal Traceback (most recent call last):\n"
        "RuntimeError: CUDA error: initialization error"
    ): MESSAGE,
    (
        '  File "/opt/conda/lib/python3.7/multiprocessing/process.py", line 99, in run\n'
        "RuntimeError: cuda runtime error (3) : initialization error at /pytorch/aten/src/THC/THCGeneral.cpp:50"
    ): MESSAGE,
}
NOT_THIS = [
    "CUDA was previously initialized. We must use the `spawn` multiprocessing start method.",
    "RuntimeError: CUDA error: initialization error",
    "RuntimeError: context has already been set",
    "To use CUDA with multiprocessing, see the notes on the start method",
]
