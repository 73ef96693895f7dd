"""A second step is to look at a job whose first step holds all that the job has."""
# run: python fixed.py
# needs: slurmctld
# needs: slurmd
# needs: root
# needs: namespaces

import os
import subprocess
import sys

CLUSTER = r"""
mount -t tmpfs tmpfs /run; mount -t tmpfs tmpfs /tmp
hostname node0; ip link set lo up; ip addr add 10.0.0.1/32 dev lo
mkdir /tmp/slurm; cd /tmp/slurm
printf '127.0.0.1 localhost\n10.0.0.1 node0\n' > hosts; mount --bind hosts /etc/hosts
cat > slurm.conf <<END
ClusterName=one
SlurmctldHost=node0
SlurmUser=root
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SlurmctldPidFile=/tmp/slurm/slurmctld.pid
SlurmdPidFile=/tmp/slurm/slurmd.pid
SlurmdSpoolDir=/tmp/slurm/slurmd
StateSaveLocation=/tmp/slurm
NodeName=node0 CPUs=1
PartitionName=all Nodes=ALL Default=YES
END
export SLURM_CONF=/tmp/slurm/slurm.conf
slurmctld; slurmd
for i in $(seq 50); do sinfo -h -o %t | grep -q idle && break; sleep 0.2; done
"$@"
"""
own = ["--mount", "--net", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
LOOK = "srun --immediate=1 --overlap --ntasks=1 hostname"
job = ["salloc", "--ntasks=1", "sh", "-c", f"srun sleep 5 & sleep 1; {LOOK}"]
os.environ["PATH"] += ":/usr/sbin:/sbin"
sys.exit(subprocess.run(["unshare"] + own + ["sh", "-c", CLUSTER, "sh"] + job, check=False).returncode)
