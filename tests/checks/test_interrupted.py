"""interrupted: Ctrl-C, seen in logs."""

MESSAGE = "it was interrupted by Ctrl-C or signal 2, and did not end by itself"
EXAMPLES = {
    "^CTraceback (most recent call last):": MESSAGE,
    "[rank0]: KeyboardInterrupt": MESSAGE,
    "torch.distributed.elastic.multiprocessing.api.SignalException: Process 32530 got signal: 2": MESSAGE,
    "W1122 04:15:10 torch/distributed/elastic/agent/server/api.py:1] Received 2 death signal, shutting down workers": MESSAGE,
    "W1122 Received Signals.SIGINT death signal, shutting down workers": MESSAGE,
    "[rank: 1] Received SIGINT: 2": MESSAGE,
    "torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with signal SIGINT": MESSAGE,
    "Detected KeyboardInterrupt, attempting graceful shutdown ...": MESSAGE,
    "ninja: build stopped: interrupted by user.": MESSAGE,
}
NOT_THIS = [
    "except KeyboardInterrupt:",
    "SignalException: Process 4711 got signal: 15",
    "Received 15 death signal, shutting down workers",
]
