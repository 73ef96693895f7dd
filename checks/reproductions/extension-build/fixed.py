"""The program compiles an extension when it starts, and ninja is not on PATH."""
# run: python fixed.py
# needs: torch
# needs: ninja
# needs: g++

import os

folders = os.environ["PATH"].split(os.pathsep)
os.environ["PATH"] = os.pathsep.join(folders)

import torch.utils.cpp_extension

with open("double.cpp", "w") as source:
    source.write('extern "C" int twice(int x) { return 2 * x; }')
print(torch.utils.cpp_extension.load("double", ["double.cpp"], is_python_module=False))
