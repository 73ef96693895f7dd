"""NCCL's debug output of an earlier search is still switched on."""
# run: python fixed.py gpudoctor check --only nccl-debug-left
# needs: torch

import os
import sys

os.environ["NCCL_DEBUG"] = "WARN"
os.execvp(sys.argv[1], sys.argv[1:])
