"""A library's kernel is compiled for another architecture than that of the GPU."""
# run: python broken.py
# needs: CUDA build of torch
# needs: 1 GPU
# needs: nvcc

import ctypes
import os
import subprocess
import tempfile

import torch

SOURCE = """
__global__ void fill(float* x, float value) { x[threadIdx.x] = value; }

extern "C" const char* fill_with(float* x, int count, float value) {
  fill<<<1, count>>>(x, value);
  return cudaGetErrorString(cudaGetLastError());
}
"""

other = "80" if torch.cuda.get_device_capability(0)[0] != 8 else "90"
architecture = f"-gencode=arch=compute_{other},code=sm_{other}"
x = torch.zeros(8).to("cuda:0")
with tempfile.TemporaryDirectory() as folder:
    source, library = os.path.join(folder, "fill.cu"), os.path.join(folder, "fill.so")
    with open(source, "w") as file:
        file.write(SOURCE)
    nvcc = ["nvcc", "-shared", "-Xcompiler=-fPIC", architecture, "-o", library, source]
    subprocess.run(nvcc, check=True)
    fill_with = ctypes.CDLL(library).fill_with
fill_with.restype = ctypes.c_char_p
error = fill_with(ctypes.c_void_p(x.data_ptr()), 8, ctypes.c_float(3.0)).decode()
if error != "no error":
    raise RuntimeError(f"CUDA error: {error}")
print("sum:", x.sum().item())
