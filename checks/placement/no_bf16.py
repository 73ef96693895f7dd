"""bfloat16 was asked for, and the GPU does not have it, or no GPU is seen.

## What happens

"ValueError: Your setup doesn't support bf16/gpu. You need torch>=1.10, using Ampere GPU with cuda>=11.0" (newer:
"You need Ampere+ GPU with cuda>=11.0"), "Current CUDA Device does not support bfloat16. Please switch dtype to float16",
or "bf16 mixed precision requires PyTorch >= 1.10 and a supported device".

## Why

- The GPU is older than Ampere: V100, P100, T4, RTX 20 and GTX have no bfloat16 in hardware; A100, A10, L4, L40, H100
  and RTX 30 and later have it.
- No GPU is seen at all, and the message is the same: a CPU build of torch, a driver that does not work, or an empty
  `CUDA_VISIBLE_DEVICES`.

torch's own version is named in the old message and is rarely the reason.

## How to tell

`python -c "import torch; print(torch.cuda.is_available() and torch.cuda.get_device_capability())"`: False is the second
case; a capability below (8, 0) is the first. `gpudoctor check` looks for the reasons of the second.

## See also

- [FastChat 399](https://github.com/lm-sys/FastChat/issues/399): the message on a V100 with torch 2.0
- [Compute capabilities](https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/compute-capabilities.html): what each generation of GPUs can do
- [Automatic mixed precision](https://docs.pytorch.org/docs/stable/amp.html): float16 needs a GradScaler
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"Your setup doesn't support bf16(?:/(?P<where>gpu|cpu|tpu))?",
        r"Current CUDA Device does not support bfloat16",
        r"bf16 mixed precision requires PyTorch .{0,20} and a supported device",
        (
            r"Bfloat16 is only supported on GPUs with compute capability of at least (?P<minimum>[\d.]+\d)"
            r"(?:\. Your (?P<gpu>.{3,60}?) GPU has compute capability (?P<capability>\d+\.\d+))?"
        ),
        r"(?:[Bb]float16|bf16|BF16) is not supported (?:on|by) (?:this|your|the current) (?:GPU|device|machine|hardware)",
        r"Type bf16 is not supported",
        r"bfloat16 autocast requires CUDA with native bfloat16 support",
    ],
    message="bfloat16 is asked for, and this device does not have it[ (<gpu>, compute capability <capability>; <minimum> is "
    "needed)]: the GPU is older than Ampere, or no GPU is seen",
    follows=[
        "torch-cpu-build",
        "driver-not-loaded",
        "cuda-driver-too-old",
        "cuda-init-failed",
        "cuda-visible-devices",
    ],
    fixes=[
        Fix(
            "See which of the two it is: False, or a capability below (8, 0)",
            'python -c "import torch; print(torch.cuda.is_available() and torch.cuda.get_device_capability())"',
        ),
        Fix(
            "With the Trainer: float16 instead",
            "torchrun --standalone --nproc-per-node=N train.py --bf16 False --fp16 True",
        ),
        Fix("With accelerate", "accelerate launch --mixed_precision fp16 train.py"),
        Fix(
            "In your own loop: float16, with weights in float32 and a scaler",
            'scaler = torch.amp.GradScaler("cuda")\nwith torch.autocast("cuda", dtype=torch.float16):\n'
            "    loss = loss_function(model(x), target)\nscaler.scale(loss).backward()\nscaler.step(optimizer)\n"
            "scaler.update()",
            Kind.EDIT,
        ),
        Fix("On Slurm: see which GPUs there are, and ask for a newer one", "sinfo -o '%P %G %N'"),
    ],
    no_reproduction="needs a GPU older than Ampere",
)
