"""Logs of every launcher with private words planted in them: hosts, users, mail addresses, folders, tokens.

Each log is a text with places such as ``<host>``; a private word of its own is put into each. The forms are those that
the launchers, NCCL, c10d, schedulers, shells and loggers print.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["FIRST", "SECOND", "Planted", "planted"]

PLACE = re.compile(r"<(host|user|mail|site|folder|token|ip|pod)(\d?)>")
HOSTS = (
    ("gpunode{:02}", "dgx-a100-{:02}", "cn{:04}", "r07u{:02}", "trn-{:03}", "hpc{:03}g4", "quasar{}", "bluefin-{}", "n{:03}ib")
)
OTHER_HOSTS = ("p4de-{:03}", "kraken{}", "c{:02}b07n02", "sxm{:03}", "node-{:03}x", "ml-train-{:02}", "zephyr", "orca-gpu{}", "juwels{:02}i")
USERS = (
    "jdoe mkowalski anowak hschmidt twatanabe ksingh lrossi pdupont ebjork fzhang rgarcia obrien7 svetlana chenwei nguyent"
    " iyer2 bakker jkim94 mlopez dpatel acohen yilmaz tfischer knguyen wsmith okafor hansenp vmurphy qliu gpapadakis"
).split()
SITES = (
    "acmecorp.com helios-labs.io northwind.ai cs.uni-arden.edu bigbank.co.uk hpc.larkspur.org zenrobotics.cn physik.tu-elbe.de"
    " vantage.tech corvid.net meridianbio.com oaktree.systems polaris.local quillon.lan"
).split()
FOLDERS = (
    "secret_llm falcon-next medimg-v3 projectx42 drugdisc voicegen blackbird churn_model earnings-nlp sat-seg"
    " protfold9 chatbot_de lidar-fusion adrank tradingrl skunkworks mri-recon genomics_eu unicornlm patentqa"
).split()


class Planted(NamedTuple):
    """One log, and the private words in it."""

    launcher: str
    text: str
    words: dict[str, str]
    """By their places, such as ``host2``."""


def planted(logs: list[tuple[str, str]], seed: int) -> Iterator[Planted]:
    """Put private words into logs, each log other ones; `seed` chooses which."""
    hosts = OTHER_HOSTS if seed else HOSTS
    number = 3 + 7 * seed
    for at, (launcher, text) in enumerate(logs):
        words: dict[str, str] = {}
        for match in PLACE.finditer(text):
            place, kind = match[0][1:-1], match[1]
            if place not in words:
                number += 1
                words[place] = _word(kind, number, at + 5 * seed, hosts)
        yield Planted(launcher, PLACE.sub(lambda m: words[m[0][1:-1]], text), words)


def _word(kind: str, number: int, at: int, hosts: tuple[str, ...]) -> str:
    user, other = USERS[number % len(USERS)], USERS[(number * 7 + 3) % len(USERS)]
    if kind == "host":
        return hosts[number % len(hosts)].format(number)
    if kind == "user":
        return user + str(number)
    if kind == "mail":
        return f"{other}.{number}@{SITES[at % len(SITES)]}"
    if kind == "site":
        return SITES[at % len(SITES)]
    if kind == "folder":
        return f"{FOLDERS[number % len(FOLDERS)]}{number}"
    if kind == "token":
        return f"hf_{'QxWvTrPzKm' * 3}{number:04}"
    if kind == "ip":
        return f"10.{number % 250}.{at + 3}.{(number * 3) % 250}"
    assert kind == "pod", kind
    return f"{FOLDERS[number % len(FOLDERS)].replace('_', '-')}-{number}-worker-{at}"


def _torchrun(error: str, own: str = "<folder>") -> str:
    return f"""[rank1]: Traceback (most recent call last):
[rank1]:   File "/gpfs/{own}/src/train.py", line 88, in <module>
[rank1]:     main()
[rank1]: {error}
W1120 00:16:41.369000 3700 site-packages/torch/distributed/elastic/multiprocessing/api.py:900] Sending process 3701 closing signal SIGTERM
E1120 00:16:42.369000 3700 site-packages/torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: 1) local_rank: 1 (pid: 3702) of binary: /home/<user>/.venv/bin/python
Traceback (most recent call last):
  File "/home/<user>/.venv/bin/torchrun", line 8, in <module>
    sys.exit(main())
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-20_00:16:41
  host      : <host>.<site>
  rank      : 1 (local_rank: 1)
  exitcode  : 1 (pid: 3702)
  error_file: <N/A>
============================================================
"""


FIRST: list[tuple[str, str]] = [
    ("torchrun", _torchrun("RuntimeError: <host> lost its lease; write to <mail> or log in to <host2>.<site>")),
    (
        "torchrun",
        "<user>@<host>:~/<folder>$ torchrun --nnodes=2 --rdzv-endpoint=<host2>:29500 train.py\n"
        + _torchrun("torch.distributed.DistNetworkError: The client socket has failed to connect to any network address of "
                    "(<host2>, 29500). The client socket has failed to connect to <host2>:29500 (errno: 110 - Connection timed out)."),
    ),
    (
        "torchrun",
        """[W1120 10:00:01.123 socket.cpp:752] [c10d] The client socket has failed to connect to [<host>.<site>]:29500 (errno: 111 - Connection refused).
[W1120 10:00:05.123 socket.cpp:752] [c10d] The IPv6 network addresses of (<host2>, 29500) cannot be retrieved (gai error: -2 - Name or service not known).
[rank3]: torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to connect to (<host>, 29500).
""",
    ),
    (
        "torchrun",
        """<host>:4242:4300 [0] NCCL INFO Bootstrap : Using eth0:<ip><0>
<host2>:4243:4301 [1] transport/net_socket.cc:500 NCCL WARN NET/Socket : peer <host>.<site><41234> closed the connection
<host2>:4243:4301 [1] NCCL INFO misc/socket.cc:47 -> 6
[rank1]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1970, remote process exited or there was a network error, NCCL version 2.21.5
[rank1]: ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.
[rank1]: Last error:
[rank1]: socketProgress: Connection closed by remote peer <host>.<site><41234>
""",
    ),
    (
        "slurm",
        """SLURM_JOB_NODELIST=<host>,<host2>
SLURM_JOB_USER=<user>
Traceback (most recent call last):
  File "/lustre/<folder>/pretrain.py", line 3, in <module>
OSError: [Errno 116] Stale file handle: '/lustre/<folder>/shard-0001.tar' (mounted on <host2> by <user>)
srun: error: <host>: task 3: Exited with exit code 1
srun: Terminating StepId=12345.0
slurmstepd: error: *** STEP 12345.0 ON <host2> CANCELLED AT 2026-11-20T10:00:00 ***
""",
    ),
    (
        "slurm",
        """slurmstepd-<host>: error: Detected 1 oom_kill event in StepId=998.0. Some of the step tasks have been OOM Killed.
srun: error: <host>: task 5: Out Of Memory
srun: error: <host2>: tasks 0-3: Killed
srun: launch/slurm: _step_signal: Terminating StepId=998.0
slurmstepd: error: *** JOB 998 ON <host3> CANCELLED AT 2026-11-20T10:00:00 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***
""",
    ),
    (
        "slurm",
        """Job started by <user> on <host>
NodeList=<host2>,<host3>
0: Traceback (most recent call last):
0:   File "/scratch/<user2>/<folder>/run.py", line 10, in main
0: PermissionError: [Errno 13] Permission denied: '/scratch/<user2>/<folder>/out' (owner <user2>)
srun: error: <host2>: task 0: Exited with exit code 1
srun: error: Node failure on <host3>
""",
    ),
    (
        "deepspeed",
        """[2026-11-20 10:00:00,123] [INFO] [runner.py:607:main] cmd = pdsh -S -f 1024 -w <host>,<host2> export PYTHONPATH=/home/<user>/<folder>
<host>: [2026-11-20 10:00:01,123] [INFO] [launch.py:139:main] WORLD INFO DICT: {'<host>': [0, 1], '<host2>': [0, 1]}
<host2>: [rank2]: Traceback (most recent call last):
<host2>: [rank2]:   File "/home/<user>/<folder>/train.py", line 9, in <module>
<host2>: [rank2]: RuntimeError: <host> did not answer, asked as <user>
pdsh@<host>: <host2>: ssh exited with exit code 1
""",
    ),
    (
        "deepspeed",
        """<host> slots=8
<host2> slots=8
[2026-11-20 10:00:00,123] [INFO] [multinode_runner.py:80:get_cmd] Running on the following workers: <host>,<host2>
<host>: ssh: connect to host <host2> port 22: Connection refused
<host>: ValueError: no slot '1' specified on host '<host2>'
""",
    ),
    (
        "accelerate",
        """main_process_ip: <host>.<site>
hostname: <host2>
Traceback (most recent call last):
  File "/home/<user>/<folder>/finetune.py", line 20, in <module>
huggingface_hub.utils._errors.RepositoryNotFoundError: 401 Client Error. Repository Not Found for url: https://huggingface.co/api/models/<user2>/<folder2>/resolve/main/config.json with token <token> on <host2>
""",
    ),
    (
        "accelerate",
        """wandb: Currently logged in as: <user> (<folder>). Use `wandb login --relogin` to force relogin
wandb: View run at https://wandb.ai/<folder>/<folder2>/runs/abc123
Traceback (most recent call last):
  File "/opt/<folder2>/train.py", line 2, in <module>
wandb.errors.CommError: entity <folder> of <user> has no project <folder>/<folder2>
""",
    ),
    (
        "mpirun",
        """[<host>:12345] *** Process received signal ***
[<host>:12345] Signal: Segmentation fault (11)
[<host2>:00001] PMIX ERROR: UNREACHABLE in file server/pmix_server.c at line 2198
--------------------------------------------------------------------------
mpirun noticed that process rank 1 with PID 12345 on node <host> exited on signal 11 (Segmentation fault).
--------------------------------------------------------------------------
""",
    ),
    (
        "mpirun",
        """[1,0]<stdout>:Running on <host>
[1,1]<stderr>:Traceback (most recent call last):
[1,1]<stderr>:  File "/nfs/<folder>/horovod_train.py", line 4, in <module>
[1,1]<stderr>:ConnectionError: HTTPSConnectionPool(host='artifacts.<site>', port=443): Max retries exceeded with url: /x (asked by <mail>)
Primary job  terminated normally, but 1 process returned a non-zero exit code.
  Process name: [[1234,1],1]
  Exit code:    1
  Local host:   <host2>
  PID: 22
""",
    ),
    (
        "ray",
        """2026-11-20 10:00:00,123 INFO worker.py:1633 -- Connecting to existing Ray cluster at address: <ip>:6379...
(RayTrainWorker pid=1234, ip=<ip2>) Traceback (most recent call last):
(RayTrainWorker pid=1234, ip=<ip2>)   File "/home/<user>/<folder>/job.py", line 4, in train_loop
(RayTrainWorker pid=1234, ip=<ip2>) RuntimeError: dataset of <user> is not on <ip2>
ray.exceptions.RayTaskError(RuntimeError): ray::_Inner.train() (pid=1234, ip=<ip2>, actor_id=abc, repr=TorchTrainer)
""",
    ),
    (
        "ray",
        """(raylet, ip=<host>) [2026-11-20 10:00:00,123 E 1 1] worker died
ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.
Memory on the node (IP: <ip>, ID: 8f3a2b1c) where the task was running was 62GB / 64GB
ray.exceptions.NodeDiedError: Task failed because the node <host2>.<site> died; node name: <host2>
""",
    ),
    (
        "kubernetes",
        """[pod/<pod>/pytorch] 2026-11-20T10:00:00Z Traceback (most recent call last):
[pod/<pod>/pytorch] 2026-11-20T10:00:00Z   File "/app/<folder>/src/train.py", line 3, in <module>
[pod/<pod>/pytorch] 2026-11-20T10:00:00Z RuntimeError: <pod> could not reach <pod2>.<folder2>.svc.cluster.local
""",
    ),
    (
        "kubernetes",
        """Name:             <pod>
Node:             <host>/<ip>
Warning  FailedScheduling  pod/<pod2>  0/3 nodes are available
HOSTNAME=<pod2>
torch.distributed.DistNetworkError: The client socket has timed out after 60000ms while trying to connect to (<pod2>, 23456).
RuntimeError: evicted <pod> from node <host>
""",
    ),
    (
        "spawn",
        """(base) <user>@<host> <folder> % python spawn.py
Traceback (most recent call last):
  File "/Users/<user>/work/<folder>/spawn.py", line 30, in <module>
    mp.spawn(main, nprocs=4)
torch.multiprocessing.spawn.ProcessRaisedException:

-- Process 1 terminated with the following error:
Traceback (most recent call last):
  File "/Users/<user>/work/<folder>/spawn.py", line 12, in main
KeyError: 'no entry for <host> in the table of <user>'
""",
    ),
    (
        "python",
        """[<user>@<host> <folder>]$ python train.py
MLFLOW_TRACKING_URI=https://mlflow.<site>
Traceback (most recent call last):
  File "train.py", line 3, in <module>
    upload('<mail>')
mlflow.exceptions.MlflowException: API request to https://mlflow.<site>/api/2.0/mlflow/runs/create failed for <user> on <host>
""",
    ),
    (
        "python",
        """Nov 20 10:00:00 <host> kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
Nov 20 10:00:01 <host2> systemd[1]: Started Session 4 of user <user>.
Nov 20 10:00:02 <host2> sshd[44]: Accepted publickey for <user2> from <ip> port 4444 ssh2
RuntimeError: <host2> has no GPU left for <user2>, <user> holds them
""",
    ),
    (
        "lightning",
        """[rank: 0] Global seed set to 42
Initializing distributed: GLOBAL_RANK: 1, MEMBER: 2/16
Logged in as <user> on Node <host>
[rank1]: Traceback (most recent call last):
[rank1]:   File "/mnt/nvme/<folder>/lit.py", line 55, in training_step
[rank1]: lightning.fabric.utilities.exceptions.MisconfigurationException: checkpoint by <mail> on <host> in s3://<folder2>/ckpt/last.ckpt
""",
    ),
    (
        "lightning",
        """Author: <mail>
Submitted by: <user>
Hostname: <host>
Running on host <host2>
Traceback (most recent call last):
  File "/workspace/<folder>/fit.py", line 5, in <module>
RuntimeError: <host> and <host2> differ, says <user> (<mail>)
""",
    ),
    (
        "torchrun",
        """[<host>:0]:I1120 10:00:01 hello
MASTER_ADDR: <host>
export MASTER_ADDR=<host2>
[rank0]: RuntimeError: The server socket has failed to listen on any local network address. The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use). Host <host>, master <host2>
""",
    ),
    (
        "torchrun",
        """init_method = tcp://<host>:29500
[rank1]:[E1120 10:00:00.1 ProcessGroupNCCL.cpp:607] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600001 milliseconds before timing out on <host>.
[<host2>:29500] is unreachable
RuntimeError: [2] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: Connection reset by peer <host2>
""",
    ),
    (
        "gloo",
        """RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [<ip>]:43210
RuntimeError: Gloo connectFullMesh failed with [../third_party/gloo/gloo/transport/tcp/pair.cc:144] no error, local=[<host>]:1234, remote=[<host2>]:4321
""",
    ),
]

SECOND: list[tuple[str, str]] = []
