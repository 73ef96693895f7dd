"""too-many-open-files: seen in logs."""

EXAMPLES = [
    (
        "RuntimeError: Too many open files. Communication with the workers is no longer possible. Please increase the limit "
        "using `ulimit -n` in the shell or change the sharing strategy"
    ),
    "OSError: [Errno 24] Too many open files: '/data/train/0001.jpg'",
    "OSError: [Errno 23] Too many open files in system",
    "RuntimeError: unable to open shared memory object </torch_4711_12345> in read-write mode: Too many open files (24)",
    "OSError: [Errno 24] Failed to open local file '/data/x.arrow'. Detail: [errno 24] Too many open files",
    "[rank1]: RuntimeError: received 0 items of ancdata",
    "Error: EMFILE: too many open files",
    "OSError: open: EMFILE",
    "OSERROR: [Errno 24] Too many files open.",
]
NOT_THIS = [
    "bash: fork: retry: Resource temporarily unavailable",
    "RuntimeError: unable to open shared memory object </torch_4711_12345> in read-write mode: No space left on device (28)",
    "OSError: [Errno 24] inotify instance limit reached",
]
SAYS = {
    EXAMPLES[
        2
    ]: "the limit of open files of the whole system is used up: tensors from DataLoader workers, sockets and files all count",
}
