"""A variable of NCCL's is misspelt, and nobody reads it."""
# run: python fixed.py gpudoctor check --only nccl-variable-unknown
# needs: CUDA build of torch

import os
import sys

os.environ["NCCL_SOCKET_IFNAME"] = "lo"
os.execvp(sys.argv[1], sys.argv[1:])
