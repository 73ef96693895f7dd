"""The shell, or the service that starts the job, allows few open files, and less than it might."""
# run: python broken.py gpudoctor check --only nofile-limit
# needs: Linux

import os
import resource
import sys

soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
soft = 256  # ulimit -n 256
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
os.execvp(sys.argv[1], sys.argv[1:])
