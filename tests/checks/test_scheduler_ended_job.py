"""scheduler-ended-job: seen in logs."""

MESSAGE = "the job was ended from outside on node07: Node failure"
EXAMPLES = {
    "slurmstepd: error: *** STEP 88.0 ON node3 CANCELLED AT 2026-09-21T10:00:00 ***": (
        "the job 88 was ended from outside on node3: CANCELLED"
    ),
    "slurmstepd: error: *** STEP 88.0 ON node3 CANCELLED AT 2026-09-21T10:00:00 ***\nsrun: Job step aborted: Waiting up to 32 seconds": (
        "the job 88 was ended from outside on node3: CANCELLED"
    ),
    "Terminated `": "the job was ended from outside: Terminated",
    "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\nsrun: error: Timed out waiting for job step to complete": "the job was ended from outside: Timed out waiting for job step to complete",
    "   JobState=NODE_FAIL Reason=NodeDown Dependency=(null)": "the job was ended from outside: NODE_FAIL",
    "My job hits the time limit before the first checkpoint": "the job was ended from outside: time limit",
    "slurmstepd: error: *** JOB 4711 ON node023 CANCELLED AT 2026-09-21T10:00:00 DUE TO TIME LIMIT ***": (
        "the job 4711 was ended from outside on node023: TIME LIMIT"
    ),
    "slurmstepd: error: *** STEP 4711.0 ON node023 CANCELLED AT 2026-09-21T10:00:00 DUE TO PREEMPTION ***": (
        "the job 4711 was ended from outside on node023: PREEMPTION"
    ),
    "slurmd[node1]: *** JOB 4711 CANCELLED AT 2015-06-30T04:08:07 DUE TO TIME LIMIT on node1 ***": (
        "the job 4711 was ended from outside: TIME LIMIT"
    ),
    "slurmstepd: error: *** JOB 4711 ON node1 CANCELLED AT 2026-09-21T10:00:00 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***": (
        "the job 4711 was ended from outside on node1: NODE FAILURE"
    ),
    "slurmstepd: error: *** JOB 4711 ON node1 CANCELLED AT 2026-09-21T10:00:00 DUE to SIGNAL Terminated ***": (
        "the job 4711 was ended from outside on node1: SIGNAL T"
    ),
    "slurmstepd: error: *** JOB 7 ON node1 CANCELLED AT 2026-09-21T10:00:00 ***": (
        "the job 7 was ended from outside on node1: CANCELLED"
    ),
    "slurmstepd: error: *** STEP 4711.0 STEPD TERMINATED ON cn106 AT 2026-09-21T10:00:00 DUE TO JOB NOT ENDING WITH SIGNALS ***": (
        "the job 4711 was ended from outside: STEPD TERMINATED"
    ),
    "srun: error: Node failure on node07": MESSAGE,
    (
        "slurmstepd: error: *** STEP 4711.0 ON node1 CANCELLED AT 2026-09-21T10:00:00 ***\n"
        "srun: error: node1: task 0: Terminated"
    ): "the job 4711 was ended from outside on node1: CANCELLED",
    "srun: error: Job killed due hitting max wall clock limit": (
        "the job was ended from outside: hitting max wall clock limit"
    ),
    "salloc: Job 4711 has exceeded its time limit and its allocation has been revoked.": (
        "the job 4711 was ended from outside: time limit"
    ),
    "salloc: error: Node failure on node07": MESSAGE,
    "4711         train      gpu       me       8    TIMEOUT      0:0": (
        "the job 4711 was ended from outside: TIMEOUT"
    ),
    "4711.batch   batch      me        8   CANCELLED by 1000      0:15": (
        "the job 4711 was ended from outside: CANCELLED by 1000"
    ),
    "torch.distributed.elastic.multiprocessing.api.SignalException: Process 4711 got signal: 15": (
        "the job was ended from outside: signal: 15"
    ),
    "WARNING:torch.distributed.elastic.agent.server.api:Received 15 death signal, shutting down workers": (
        "the job was ended from outside: 15 death signal"
    ),
    "W1120 12:05:04.378 20812 torch/distributed/elastic/agent/server/api.py:719] Received Signals.SIGTERM death signal, shutting down workers": (
        "the job was ended from outside: Signals.SIGTERM death signal"
    ),
    "[rank: 0] Received SIGTERM: 15": "the job was ended from outside: SIGTERM",
    "lightning.pytorch.utilities.exceptions.SIGTERMException": (
        "the job was ended from outside: SIGTERMException"
    ),
    "Handling auto-requeue signal: 10": "the job was ended from outside: signal: 10",
    "submitit WARNING (2026-09-21 10:00:00,000) - Caught signal SIGUSR2 on node01: this job is preempted.": (
        "the job was ended from outside: preempted"
    ),
    "Job has timed out. Ran 59 minutes out of requested 60 minutes.": (
        "the job was ended from outside: timed out"
    ),
    "submitit.core.utils.UncompletedJobError: Job not requeued because: timed-out too many times.": (
        "the job was ended from outside: timed-out too many times"
    ),
    "TERM_RUNLIMIT: job killed after reaching LSF run time limit.": (
        "the job was ended from outside: RUNLIMIT"
    ),
    "=>> PBS: job killed: walltime 3601 exceeded limit 3600": (
        "the job was ended from outside: walltime 3601 exceeded limit"
    ),
    "job 4711 exceeded hard wallclock time": "the job was ended from outside: exceeded hard wallclock time",
    "job.exception type=timeout severity=0 resource allocation expired": (
        "the job was ended from outside: timeout"
    ),
    "      Reason:  DeadlineExceeded": "the job was ended from outside: DeadlineExceeded",
    "Job was active longer than specified deadline": "the job was ended from outside: specified deadline",
    "Instance was preempted.": "the job was ended from outside: Instance was preempted",
    "Terminated": "the job was ended from outside: Terminated",
    "train.sh: line 4:  4711 Terminated              python train.py": (
        "the job was ended from outside: Terminated"
    ),
    "timeout: sending signal TERM to command 'python'": "the job was ended from outside: signal TERM",
    "python died with <Signals.SIGTERM: 15>.": "the job was ended from outside: SIGTERM",
    "WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 4712 closing signal SIGHUP": (
        "the job was ended from outside: SIGHUP"
    ),
}
NOT_THIS = [
    (
        "srun: error: node1: task 1: Exited with exit code 1\n"
        "slurmstepd: error: *** STEP 4711.0 ON node1 CANCELLED AT 2026-09-21T10:00:00 ***\n"
        "srun: error: node1: task 0: Terminated"
    ),
    "srun: error: node01: task 3: Exited with exit code 1\nslurmstepd: error: *** STEP 4711.0 ON node01 CANCELLED AT 2026-09-21T10:00:00 ***",
    "W1120 12:05:04.378 20812 torch/distributed/elastic/multiprocessing/api.py:1002] Sending process 4712 closing signal SIGTERM",
    "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
    "KeyboardInterrupt",
    "  traceback : Signal 15 (SIGTERM) received by PID 4711",
    "train.sh: line 4:  4711 Killed              python train.py",
]
