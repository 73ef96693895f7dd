"""The process has as many open files as it may.

## What happens

"OSError: [Errno 24] Too many open files", "RuntimeError: received 0 items of ancdata", or torch's "Too many open files.
Communication with the workers is no longer possible." Lost connections and `EOFError` around it follow from it.

## Why

- Each tensor that a DataLoader worker hands over is an open file in the training process until the tensor is freed.
  A list that keeps batches, or parts of them, keeps the files.
- Many workers x ranks x sockets of NCCL, and a limit (`ulimit -n`) of 1024.
- A dataset that opens a file for each sample and never closes it.

## How to tell

`ulimit -n` where the job runs, and `ls /proc/PID/fd | wc -l` while it does: a number that grows is a leak. "Too many
open files in system" (23) is the limit of the machine, `sysctl fs.file-max`.

## See also

- [Sharing strategies](https://docs.pytorch.org/docs/stable/multiprocessing.html#sharing-strategies): `file_descriptor` or `file_system`
- [pytorch#973](https://github.com/pytorch/pytorch/issues/973): received 0 items of ancdata
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    machine=True,
    symptoms=[
        r"[Tt]oo many (?:open files|files open)(?: in (?P<scope>system))?",
        r"received (\d+|%d) items of ancdata",
        r"\bEMFILE\b",
    ],
    message="the limit of open files[ of the whole <scope>] is used up: tensors from DataLoader workers, sockets and files all count",
    fixes=[
        Fix(
            "Raise the limit as far as you may, in the shell or the job script that starts the training",
            "ulimit -n $(ulimit -Hn)",
        ),
        Fix(
            "Hand tensors over by name instead of by open file",
            'torch.multiprocessing.set_sharing_strategy("file_system")',
            Kind.EDIT,
        ),
        Fix(
            "Keep numbers and copies, not the workers' own tensors",
            "losses.append(loss.item())\nkept.append(batch.clone())",
            Kind.EDIT,
            proof="kept.append(batch.clone())",
        ),
        Fix("In docker: start the container with more", "docker run --ulimit nofile=65536:65536 IMAGE"),
        Fix(
            "Raise the limit for all of a user's jobs",
            "echo '* - nofile 65536' | sudo tee /etc/security/limits.d/90-nofile.conf  # after the next login",
            Kind.ADMIN,
        ),
    ],
)
