"""The launcher cannot start its processes on another node by ssh.

## What happens

DeepSpeed, mpirun, Horovod and Open MPI's daemons log in to the other nodes. "Permission denied (publickey,password)",
"Host key verification failed", "ORTE was unable to reliably start one or more daemons", "There are not enough slots
available in the system", "launcher 'pdsh' not installed".

## Why

| the words | what it means |
|---|---|
| Permission denied (publickey …) | this node's public key is not in the other node's `~/.ssh/authorized_keys`, or another user's name is needed |
| Host key verification failed | this account has not accepted that node's key yet, and a launcher cannot answer ssh's question |
| REMOTE HOST IDENTIFICATION HAS CHANGED | the node was installed again, or another machine answers for its name |
| not enough slots | the hostfile, or Slurm, grants fewer processes than `-np` asks for |
| unable to reliably start one or more daemons, orted: command not found | ssh works, and the same environment is not there on the other node |
| launcher 'pdsh' not installed | DeepSpeed starts other nodes by pdsh |
| ssh: connect to host NODE port 22: Connection refused | no ssh server runs there, or it listens on another port |
| ssh: connect to host NODE port 22: Connection timed out, No route to host | a firewall, a wrong address, or the node is down |

A name that does not resolve is `hostname-resolution`. Many clusters forbid ssh between nodes, or allow it only to nodes on
which a job of yours runs.

## How to tell

`ssh -o BatchMode=yes NODE 'hostname; which python'` from the node that launches, for each node of the hostfile: it must
print the name and the right Python without asking anything.

## See also

- [DeepSpeed: multi-node](https://www.deepspeed.ai/getting-started/#resource-configuration-multi-node): the hostfile
- [Open MPI: slots](https://docs.open-mpi.org/en/main/launching-apps/scheduling.html): how many processes a host gets, and the hostfile
- [horovod#467](https://github.com/horovod/horovod/issues/467): Permission denied with several nodes
"""

from gpudoctor import Check, Fix, Severity, Symptom

# git asks by ssh too, and says this below
GIT = r"Could not read from remote repository|git@[\w.-]+: Permission denied"

check = Check(
    severity=Severity.ERROR,
    machine=True,
    symptoms=[
        Symptom(
            r"(?P<reason>Permission denied) \((?:publickey|password|gssapi|keyboard|hostbased)", unless=GIT
        ),
        r"(?P<reason>Permission denied), please try again\.",  # ssh, after a wrong password or none
        Symptom(r"(?P<reason>Host key verification failed)", unless=GIT),
        r"(?P<reason>REMOTE HOST IDENTIFICATION HAS CHANGED)",
        r"(?P<slots>There are not enough slots available in the system)",
        r"(?:ORTE|PRTE|PRRTE) was (?P<reason>unable to reliably start one or more daemons)",
        r"(?P<reason>\b(?:orted|prted|hydra_pmi_proxy): (?:command )?not found)",
        r"(?P<reason>launcher '\w+' not installed)",
        r"(?P<reason>pdsh: (?:command )?not found)",
        # DeepSpeed tries ssh to the first node of the hostfile
        r"Command 'ssh .{1,200}(?P<reason>returned non-zero exit status 255)",
        r"but host=\S{1,100} was (?P<reason>not reachable via ssh)",
        # Horovod, accelerate
        r"(?P<reason>could not connect to some hosts via ssh)",
        r"(?P<slots>mpirun or mpiexec were not found)",
        r"(?P<slots>Not enough slots on the hosts)",
        r"(?P<slots>Requested more processes \(\d+\) than there are available slots \(\d+\))",
        r"(?P<reason>ssh exited with exit code 255)\b",  # pdsh
        Symptom(
            r"ssh: connect to host (?P<host>[\w.:-]{1,100})(?: port \d+)?: (?P<reason>\w[\w ]{3,60})",
            unless=GIT,
        ),
    ],
    message="the launcher could not start its processes[ on another node: <reason>][: <slots>]",
    follows=["hostname-resolution", "rendezvous-unreachable", "thread-limit"],
    fixes=[
        Fix(
            "Try what the launcher does, for each node", "ssh -o BatchMode=yes NODE 'hostname; which python'"
        ),
        Fix(
            "Under Slurm: start one torchrun on each node by srun; no ssh is needed",
            "srun --ntasks-per-node=1 torchrun --nnodes=$SLURM_NNODES --nproc-per-node=N --rdzv-backend=c10d "
            "--rdzv-id=$SLURM_JOB_ID --rdzv-endpoint=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -1):29500 train.py",
        ),
        Fix(
            "DeepSpeed without pdsh and ssh: start it on each node yourself, the first with --node_rank=0, the second with 1",
            "deepspeed --hostfile=hostfile --no_ssh --node_rank=0 --master_addr=NODE --master_port=29500 train.py",
            source="https://www.deepspeed.ai/getting-started/",
        ),
        Fix("Without a scheduler: give the other node your public key", "ssh-copy-id NODE"),
        Fix(
            "Put each node's host key on record beforehand: compare this fingerprint with the administrators', and only then "
            "`cat NODE.key >> ~/.ssh/known_hosts`",
            "ssh-keyscan -t ed25519 NODE > NODE.key; ssh-keygen -lf NODE.key",
        ),
        Fix(
            "Where the administrators say that the node was installed again: forget its old key",
            "ssh-keygen -R NODE",
            source="https://man.openbsd.org/ssh-keygen.1",
        ),
        Fix(
            "Say in the hostfile how many processes each node takes: `slots=4`",
            "cat hostfile; mpirun --hostfile hostfile -np 8 hostname",
        ),
    ],
    no_reproduction="needs two hosts",
)
