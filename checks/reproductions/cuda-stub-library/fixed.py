"""LD_LIBRARY_PATH leads to a folder of stubs, which are for linking alone, before the driver's own library."""
# run: python fixed.py gpudoctor check --only cuda-stub-library
# needs: Linux
# needs: gcc
# shown on: a libcuda.so.1 that answers as NVIDIA's stub does

import os
import subprocess
import sys
import tempfile

STUB = "int cuInit(unsigned flags) { return 34; } /* CUDA_ERROR_STUB_LIBRARY */"

with tempfile.TemporaryDirectory() as toolkit:
    stubs = os.path.join(toolkit, "lib64", "stubs")
    os.makedirs(stubs)
    library = ["-shared", "-o", os.path.join(stubs, "libcuda.so.1")]
    subprocess.run(["gcc", "-x", "c", "-"] + library, input=STUB, text=True, check=True)
    environment = dict(os.environ, LD_LIBRARY_PATH=stubs)
    del environment["LD_LIBRARY_PATH"]  # unset LD_LIBRARY_PATH
    code = subprocess.run(sys.argv[1:], env=environment, check=False).returncode
sys.exit(code)
