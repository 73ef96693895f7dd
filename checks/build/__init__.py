"""The software must match the machine and itself: one torch, a torchvision made for it, and the CUDA build of both."""
