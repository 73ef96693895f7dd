"""NCCL moves tensors between GPUs: torch must be built with it, and it must find its way to every other GPU."""
