"""too-many-open-files: seen in logs."""

MESSAGE = "the limit of open files is used up: tensors from DataLoader workers, sockets and files all count"
EXAMPLES = {
    (
        "RuntimeError: Too many open files. Communication with the workers is no longer possible. Please increase the limit "
        "using `ulimit -n` in the shell or change the sharing strategy"
    ): MESSAGE,
    "OSError: [Errno 24] Too many open files: '/data/train/0001.jpg'": MESSAGE,
    "OSError: [Errno 23] Too many open files in system": (
        "the limit of open files of the whole system is used up: tensors from DataLoader workers, sockets and "
        "files all count"
    ),
    "RuntimeError: unable to open shared memory object </torch_4711_12345> in read-write mode: Too many open files (24)": MESSAGE,
    "OSError: [Errno 24] Failed to open local file '/data/x.arrow'. Detail: [errno 24] Too many open files": MESSAGE,
    "[rank1]: RuntimeError: received 0 items of ancdata": MESSAGE,
    "Error: EMFILE: too many open files": MESSAGE,
    "OSError: open: EMFILE": MESSAGE,
    "OSERROR: [Errno 24] Too many files open.": MESSAGE,
}
NOT_THIS = [
    "bash: fork: retry: Resource temporarily unavailable",
    "RuntimeError: unable to open shared memory object </torch_4711_12345> in read-write mode: No space left on device (28)",
    "OSError: [Errno 24] inotify instance limit reached",
]
