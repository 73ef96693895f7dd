"""The job is bound to one processor of several, and starts two ranks there."""
# run: python broken.py gpudoctor check --only cpus-per-rank
# needs: Linux

import os
import sys

os.environ["LOCAL_WORLD_SIZE"] = "2"
processors = sorted(os.sched_getaffinity(0))
os.sched_setaffinity(0, processors[:1])
os.execvp(sys.argv[1], sys.argv[1:])
