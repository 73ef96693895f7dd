"""Variables of an earlier launch are still exported, and contradict those of this one."""
# run: python fixed.py gpudoctor check --only launch-inconsistent
# needs: torch

import os
import sys

os.environ.update(LOCAL_WORLD_SIZE="8", LOCAL_RANK="0")  # of an earlier launch
for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"):
    os.environ.pop(name, None)  # unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE
os.environ.update(RANK="0", WORLD_SIZE="2")
os.execvp(sys.argv[1], sys.argv[1:])
