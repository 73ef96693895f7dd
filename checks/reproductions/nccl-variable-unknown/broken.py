"""A variable of NCCL's is misspelt, and nobody reads it."""
# run: python broken.py gpudoctor check --only nccl-variable-unknown
# needs: CUDA build of torch

import os
import sys

os.environ["NCCL_SOCKET_IFNAM"] = "lo"
os.execvp(sys.argv[1], sys.argv[1:])
