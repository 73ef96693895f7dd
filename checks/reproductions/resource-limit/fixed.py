"""The shell, or the queue in which the job runs, limits the size of a file."""
# run: python fixed.py gpudoctor check --only resource-limit
# needs: Linux

import os
import resource
import sys

_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
soft = hard  # ulimit -f $(ulimit -Hf)
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
os.execvp(sys.argv[1], sys.argv[1:])
