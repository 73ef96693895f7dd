"""CUDA reaches a GPU through NVIDIA's kernel driver: without it, or with one too old, no framework sees a GPU."""
