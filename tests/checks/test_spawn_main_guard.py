"""spawn-main-guard: seen in logs."""

MESSAGE = "a child that was spawned imported the main file and came to the line that starts processes"
EXAMPLES = {
    """RuntimeError:
        An attempt has been made to start a new process before the
        current process has finished its bootstrapping phase.

        This probably means that you are not using fork to start your
        child processes and you have forgotten to use the proper idiom
        in the main module:""": MESSAGE,
    "FileNotFoundError: [Errno 2] No such file or directory: '/data/run/<stdin>'": MESSAGE,
    '  File "C:\\\\Anaconda3\\\\lib\\\\multiprocessing\\\\spawn.py", line 136, in _check_not_importing_main': MESSAGE,
    "        This probably means that you are not using fork to start your": MESSAGE,
    '        The "freeze_support()" line can be omitted if the program': MESSAGE,
}
NOT_THIS = [
    "RuntimeError: trying to initialize the default process group twice!",
    "FileNotFoundError: [Errno 2] No such file or directory: '/data/train'",
    "RuntimeError: Cannot re-initialize CUDA in forked subprocess.",
]
