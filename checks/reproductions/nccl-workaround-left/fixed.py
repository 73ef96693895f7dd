"""A work-around for another machine still keeps NCCL off its fastest paths."""
# run: python fixed.py gpudoctor check --only nccl-workaround-left
# needs: torch

import os
import sys

os.environ["NCCL_P2P_DISABLE"] = "1"
del os.environ["NCCL_P2P_DISABLE"]  # unset NCCL_P2P_DISABLE
os.execvp(sys.argv[1], sys.argv[1:])
