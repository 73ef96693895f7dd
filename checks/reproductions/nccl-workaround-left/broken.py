"""A work-around for another machine still keeps NCCL off its fastest paths."""
# run: python broken.py gpudoctor check --only nccl-workaround-left
# needs: torch

import os
import sys

os.environ["NCCL_P2P_DISABLE"] = "1"
os.execvp(sys.argv[1], sys.argv[1:])
