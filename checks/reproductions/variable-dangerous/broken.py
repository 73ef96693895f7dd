"""A variable keeps torch from ending a rank whose collective failed: the job would hang."""
# run: python broken.py gpudoctor check --only variable-dangerous
# needs: torch

import os
import sys

os.environ["TORCH_NCCL_ASYNC_ERROR_HANDLING"] = "0"
os.execvp(sys.argv[1], sys.argv[1:])
