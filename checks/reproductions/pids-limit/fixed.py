"""The container or job may hold fewer processes and threads than its ranks need."""
# run: python fixed.py gpudoctor check --only pids-limit
# needs: root
# needs: control groups

import os
import subprocess
import sys

MOST = "max"  # docker run --pids-limit=-1

os.environ["LOCAL_WORLD_SIZE"] = "8"
parent = "/sys/fs/cgroup/pids" if os.path.isdir("/sys/fs/cgroup/pids") else "/sys/fs/cgroup"
group = os.path.join(parent, f"trainer-{os.getpid()}")
JOIN = f'echo {MOST} > {group}/pids.max && echo $$ > {group}/cgroup.procs && exec "$@"'
os.mkdir(group)
try:
    code = subprocess.run(["sh", "-c", JOIN, "sh"] + sys.argv[1:], check=False).returncode
finally:
    os.rmdir(group)
sys.exit(code)
