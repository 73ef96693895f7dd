"""dataloader-worker-killed: seen in logs."""

EXAMPLES = [
    "RuntimeError: DataLoader worker (pid 19597) is killed by signal: Killed. ",
    "RuntimeError: DataLoader worker (pid(s) 123, 456) exited unexpectedly",
    "RuntimeError: DataLoader worker (pid 7) exited unexpectedly with exit code 1. Details are lost due to multiprocessing.",
    "RuntimeError: DataLoader worker (pid 7) is killed by unknown signal",
]
NOT_THIS = [
    "RuntimeError: DataLoader worker (pid 19597) is killed by signal: Bus error. It is possible that dataloader's"
]
SAYS = {
    EXAMPLES[0]: "worker process 19597 died: Killed",
    EXAMPLES[2]: "worker process 7 died, exit code 1",
}
