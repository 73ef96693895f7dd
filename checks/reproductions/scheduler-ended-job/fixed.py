"""The terminal in which torchrun runs is closed: that signal ends torchrun, under nohup too."""
# run: python fixed.py
# needs: torch
# needs: setsid

import os
import signal
import subprocess
import sys
import time

STARTED, TRAINED = __file__ + ".started", __file__ + ".trained"
if sys.argv[1:] == ["train"]:
    open(STARTED, "w").close()
    time.sleep(2)
    open(TRAINED, "w").close()
    sys.exit()

launch = [
    sys.executable,
    "-m",
    "torch.distributed.run",
    "--standalone",
    "--nproc-per-node=1",
    __file__,
    "train",
]
launch = ["setsid"] + launch
ended, writing = os.pipe()
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it would be ignored by the terminal too
terminal = ["sh", "-c", '"$@" & sleep 60', "sh"]
shell = subprocess.Popen(terminal + launch, start_new_session=True, pass_fds=[writing])
os.close(writing)
while not os.path.exists(STARTED):
    time.sleep(0.1)
os.killpg(shell.pid, signal.SIGHUP)  # what closing a terminal does
os.read(ended, 1)  # until all that was started there has ended
sys.exit(not os.path.exists(TRAINED))
