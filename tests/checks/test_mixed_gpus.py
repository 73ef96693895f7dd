"""mixed-gpus: seen in logs."""

EXAMPLES = {
    (
        "/data/env/lib/python3.11/site-packages/torch/nn/parallel/data_parallel.py:33: UserWarning: \n"
        "    There is an imbalance between your GPUs. You may want to exclude GPU 1 which\n"
        "    has less than 75% of the memory or cores of GPU 0. You can do so by setting\n"
        "    the device_ids argument to DataParallel, or by setting the CUDA_VISIBLE_DEVICES\n"
        "    environment variable."
    ): (
        "the GPUs differ: GPU 1 has much less memory or fewer cores than the best; every step waits for the "
        "slowest, and the batch must fit the smallest"
    ),
    (
        "WARNING 03-04 10:00:00 [cuda.py:450] Detected different devices in the system: NVIDIA A100-PCIE-40GB, NVIDIA A10. "
        "Please make sure to set `CUDA_DEVICE_ORDER=PCI_BUS_ID` to avoid unexpected behavior."
    ): (
        "the GPUs differ: NVIDIA A100-PCIE-40GB, NVIDIA A10; every step waits for the slowest, and the batch "
        "must fit the smallest"
    ),
    (
        "GPU models and configuration: \nGPU 0: NVIDIA GeForce RTX 3090\nGPU 1: NVIDIA GeForce RTX 3090\n"
        "GPU 2: NVIDIA GeForce GTX 1080 Ti\n\nNvidia driver version: 535.54"
    ): (
        "the GPUs differ: NVIDIA GeForce RTX 3090 and NVIDIA GeForce GTX 1080 Ti; every step waits for the "
        "slowest, and the batch must fit the smallest"
    ),
    "GPU 0: NVIDIA RTX A6000 (UUID: GPU-00000000-1111)\nGPU 1: NVIDIA RTX A5000 (UUID: GPU-00000000-2222)": (
        "the GPUs differ: NVIDIA RTX A6000 and NVIDIA RTX A5000; every step waits for the slowest, and the "
        "batch must fit the smallest"
    ),
}
NOT_THIS = [
    "GPU models and configuration: \nGPU 0: NVIDIA GeForce RTX 3090\nGPU 1: NVIDIA GeForce RTX 3090\n\nNvidia driver",
    "GPU 0: NVIDIA RTX A6000 (UUID: GPU-00000000-1111)\nGPU 1: NVIDIA RTX A6000 (UUID: GPU-00000000-2222)",
    "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-00000000-1111)\n  MIG 3g.40gb     Device  0: (UUID: MIG-00000000-1111)",
    "GPU memory imbalance: GPU 0 uses 20 GB more than the others",
]
