"""A variable from a search for an error is still set, and slows every collective down."""
# run: python broken.py gpudoctor check --only debug-variable-left

import os
import sys

os.environ["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL"
os.execvp(sys.argv[1], sys.argv[1:])
