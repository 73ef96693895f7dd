"""NCCL_SOCKET_IFNAME, copied from another machine, fits no interface of this one."""
# run: python fixed.py gpudoctor check --only nccl-interface
# needs: Linux

import os
import sys

os.environ["NCCL_SOCKET_IFNAME"] = "ens99f0np0"
del os.environ["NCCL_SOCKET_IFNAME"]  # unset NCCL_SOCKET_IFNAME
os.execvp(sys.argv[1], sys.argv[1:])
