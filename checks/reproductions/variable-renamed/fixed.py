"""A variable is set under the name that it had before torch 2.2."""
# run: python fixed.py gpudoctor check --only variable-renamed
# needs: CUDA build of torch

import os
import sys

os.environ["TORCH_NCCL_ASYNC_ERROR_HANDLING"] = "1"
os.execvp(sys.argv[1], sys.argv[1:])
