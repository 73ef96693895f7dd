"""A training that was killed left segments of shared memory behind, and nobody uses them."""
# run: python fixed.py gpudoctor check --only shm-leftovers
# needs: root
# needs: namespaces

import os
import sys

LEFT = """
mount -t tmpfs tmpfs /dev/shm
head -c 1000000 /dev/zero > /dev/shm/nccl-aB3dE6
rm -f /dev/shm/nccl-aB3dE6
exec "$@"
"""
os.execvp("unshare", ["unshare", "--mount", "sh", "-c", LEFT, "sh"] + sys.argv[1:])
