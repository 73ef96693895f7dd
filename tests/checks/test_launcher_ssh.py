"""launcher-ssh: seen in logs."""

MESSAGE = "the launcher could not start its processes on another node: "
EXAMPLES = {
    "worker-2: user@worker-2: Permission denied (publickey,password).": MESSAGE + "Permission denied",
    "worker-2: Permission denied, please try again.": MESSAGE + "Permission denied",
    "pdsh@worker-1: worker-2: Host key verification failed.": MESSAGE + "Host key verification failed",
    "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @": MESSAGE
    + "REMOTE HOST IDENTIFICATION HAS CHANGED",
    "There are not enough slots available in the system to satisfy the 16": (
        "the launcher could not start its processes: There are not enough slots available in the system"
    ),
    "ORTE was unable to reliably start one or more daemons.": MESSAGE
    + "unable to reliably start one or more daemons",
    "bash: orted: command not found": MESSAGE + "orted: command not found",
    "RuntimeError: launcher 'pdsh' not installed.": MESSAGE + "launcher 'pdsh' not installed",
    "/bin/sh: 1: pdsh: not found": MESSAGE + "pdsh: not found",
    "subprocess.CalledProcessError: Command 'ssh -o PasswordAuthentication=no worker-2 hostname' returned non-zero exit status 255.": (
        MESSAGE + "returned non-zero exit status 255"
    ),
    "RuntimeError: Using hostfile at /job/hostfile but host=worker-2 was not reachable via ssh.": (
        MESSAGE + "not reachable via ssh"
    ),
    "Exception: could not connect to some hosts via ssh": (
        "the launcher could not start its processes on another node: could not connect to some hosts via ssh"
    ),
    "OSError: mpirun or mpiexec were not found. Is an MPI installed?": (
        "the launcher could not start its processes: mpirun or mpiexec were not found"
    ),
    "ValueError: Not enough slots on the hosts to fulfil the 8 requested.": (
        "the launcher could not start its processes: Not enough slots on the hosts"
    ),
    "ValueError: Requested more processes (8) than there are available slots (4)": (
        "the launcher could not start its processes: Requested more processes (8) than there are available slots (4)"
    ),
    "pdsh@head: node3: ssh exited with exit code 255": "the launcher could not start its processes on another node: ssh exited with exit code 255",
    "ssh: connect to host node3 port 22: No route to host": "the launcher could not start its processes on another node: No route to host",
}
NOT_THIS = [
    "subprocess.CalledProcessError: Command 'ssh worker-2 python train.py' returned non-zero exit status 1.",
    "PermissionError: [Errno 13] Permission denied: '/data'",
    "Warning: Permanently added 'worker-2' (ED25519) to the list of known hosts.",
    "git@github.com: Permission denied (publickey).\nfatal: Could not read from remote repository.",
    "Host key verification failed.\nfatal: Could not read from remote repository.",
]
