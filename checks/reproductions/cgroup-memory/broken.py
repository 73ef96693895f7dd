"""The container or job may use less memory than its ranks need to start."""
# run: python broken.py gpudoctor check --only cgroup-memory
# needs: root
# needs: control groups

import os
import subprocess
import sys

MOST = 256 << 20  # docker run --memory=256m

first = os.path.isdir("/sys/fs/cgroup/memory")  # version 1 of control groups
group = f"/sys/fs/cgroup/{'memory/' if first else ''}trainer-{os.getpid()}"
limit = "memory.limit_in_bytes" if first else "memory.max"
JOIN = f'echo {MOST} > {group}/{limit} && echo $$ > {group}/cgroup.procs && exec "$@"'
os.mkdir(group)
try:
    code = subprocess.run(["sh", "-c", JOIN, "sh"] + sys.argv[1:], check=False).returncode
finally:
    os.rmdir(group)
sys.exit(code)
