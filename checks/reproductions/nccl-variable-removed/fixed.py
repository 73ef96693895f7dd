"""A variable that an older NCCL read is set, and the installed one knows it no more."""
# run: python fixed.py gpudoctor check --only nccl-variable-removed
# needs: CUDA build of torch

import os
import sys

os.environ["NCCL_LL_THRESHOLD"] = "0"
del os.environ["NCCL_LL_THRESHOLD"]  # unset NCCL_LL_THRESHOLD
os.execvp(sys.argv[1], sys.argv[1:])
