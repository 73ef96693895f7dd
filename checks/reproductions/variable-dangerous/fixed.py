"""A variable keeps torch from ending a rank whose collective failed: the job would hang."""
# run: python fixed.py gpudoctor check --only variable-dangerous
# needs: torch

import os
import sys

os.environ["TORCH_NCCL_ASYNC_ERROR_HANDLING"] = "0"
del os.environ["TORCH_NCCL_ASYNC_ERROR_HANDLING"]  # unset TORCH_NCCL_ASYNC_ERROR_HANDLING
os.execvp(sys.argv[1], sys.argv[1:])
