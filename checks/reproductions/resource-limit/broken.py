"""The shell, or the queue in which the job runs, limits the size of a file."""
# run: python broken.py gpudoctor check --only resource-limit
# needs: Linux

import os
import resource
import sys

_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
soft = 100_000 * 1024  # ulimit -f 100000
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
os.execvp(sys.argv[1], sys.argv[1:])
