"""OMP_NUM_THREADS, set for a larger machine, is a multiple of the processors that are here."""
# run: python fixed.py gpudoctor check --only omp-threads

import os
import sys

processors = os.cpu_count()
os.environ["OMP_NUM_THREADS"] = str(processors)
os.execvp(sys.argv[1], sys.argv[1:])
