"""spawn-main-guard: seen in logs."""

MESSAGE = "a child that was spawned imported the main file and came to the line that starts processes"
PIPE = (
    "a child that was spawned ended while it was being sent its work: mostly since the main file has no guard"
)
EXAMPLES = {
    """~\\envs\\cifar\\lib\\multiprocessing\\reduction.py in dump(obj, file, protocol)
---> 60     ForkingPickler(file, protocol).dump(obj)

BrokenPipeError: [Errno 32] Broken pipe""": PIPE,
    "On Windows I get BrokenPipeError as soon as num_workers is not 0": PIPE,
    """RuntimeError:
        An attempt has been made to start a new process before the
        current process has finished its bootstrapping phase.

        This probably means that you are not using fork to start your
        child processes and you have forgotten to use the proper idiom
        in the main module:""": MESSAGE,
    "FileNotFoundError: [Errno 2] No such file or directory: '/data/run/<stdin>'": MESSAGE,
    '  File "C:\\\\Anaconda3\\\\lib\\\\multiprocessing\\\\spawn.py", line 136, in _check_not_importing_main': MESSAGE,
    "        This probably means that you are not using fork to start your": MESSAGE,
    (
        '  File "/usr/lib/python3.11/multiprocessing/spawn.py", line 297, in _fixup_main_from_path\n'
        "    main_content = runpy.run_path(main_path,\nRuntimeError: context has already been set"
    ): MESSAGE,
    '        The "freeze_support()" line can be omitted if the program': MESSAGE,
    "RuntimeError: Launching with the 'spawn' start method requires that your script guards the main function": (
        "a child that was spawned imported the main file and came to the line that starts processes"
    ),
}
NOT_THIS = [
    "BrokenPipeError: [Errno 32] Broken pipe",
    "ForkingPickler(file, protocol).dump(obj)\nBrokenPipeError: [Errno 32] Broken pipe\nModuleNotFoundError: No module named 'cv2'",
    "RuntimeError: trying to initialize the default process group twice!",
    "FileNotFoundError: [Errno 2] No such file or directory: '/data/train'",
    "RuntimeError: Cannot re-initialize CUDA in forked subprocess.",
]

FLAGGED = [
    """
import sweeps
import torch.multiprocessing as mp

def work(rank):
    print(rank)

def once():  # <-
    mp.spawn(work, nprocs=2)

sweeps.agent("id", function=once)
""",
    (
        "spawn.py",
        {
            'if __name__ == "__main__":\n    world_size = torch.cuda.device_count()\n    mp.spawn(worker, args=(world_size, 5), nprocs=world_size, join=True)': "world_size = torch.cuda.device_count()\nmp.spawn(worker, args=(world_size, 5), nprocs=world_size, join=True)  # <-"
        },
    ),
    """
import torch.multiprocessing as mp

def work(rank):
    print(rank)

def main():
    mp.spawn(work, nprocs=2)

main()  # <-
""",
    """
import torch
from torch.multiprocessing import Process, set_start_method

def work(rank):
    print(rank)

set_start_method("spawn")
p = Process(target=work, args=(0,))  # <-
p.start()
""",
]
FINE = [
    """
import menu
import torch.multiprocessing as mp

def work(rank):
    print(rank)

def train():
    mp.spawn(work, nprocs=2)

menu.add_command(train)

if __name__ == "__main__":
    menu.run()
""",
    """
import sweeps
import torch.multiprocessing as mp

def work(rank):
    print(rank)

def main():
    def once():
        mp.spawn(work, nprocs=2)

    sweeps.agent("id", function=once)

if __name__ == "__main__":
    main()
""",
    """
import torch
from torch.multiprocessing import Process

def work(rank):
    print(rank)

p = Process(target=work, args=(0,))
p.start()
""",
    """
import torch.multiprocessing as mp

def work(rank):
    print(rank)

def main():
    mp.spawn(work, nprocs=2)
""",
]
