"""zero3-shapes: seen in logs."""

FRAME = '  File "/opt/venv/lib/python3.10/site-packages/deepspeed/runtime/engine.py", line 1768, in forward\n'
MESSAGE = (
    "the parameter is empty here; ZeRO-3 or FSDP holds it in parts on all ranks, and nothing gathered it"
)
EXAMPLES = {
    "- model.norm.weight: found shape torch.Size([4096]) in the checkpoint and torch.Size([0]) in the model instantiated": (
        f"model.norm.weight: {MESSAGE}"
    ),
    (
        "[INFO] [config.py:984:print] DeepSpeedEngine configuration:\n\tsize mismatch for model.decoder.layers.25.q_proj.weight: "
        "copying a param with shape torch.Size([0]) from checkpoint, the shape in current model is torch.Size([2560, 2560])."
    ): (
        "model.decoder.layers.25.q_proj.weight: the parameter is empty here; ZeRO-3 or FSDP holds it in parts "
        "on all ranks, and nothing gathered it"
    ),
    (
        "RuntimeError: Expected weight to be of same shape as normalized_shape, but got weight of shape [0] and "
        "normalized_shape = [768]"
    ): MESSAGE,
    "RuntimeError: running_mean should contain 64 elements not 0": MESSAGE,
    "RuntimeError: size mismatch, got input (6), mat (6x8), vec (0)": MESSAGE,
    FRAME + "RuntimeError: 'weight' must be 2-D": MESSAGE,
    FRAME + "RuntimeError: tensors must be 2-D": MESSAGE,
    FRAME + "RuntimeError: weight should have at least three dimensions": MESSAGE,
    (
        "[2026-10-02 13:10:01,000] [INFO] [logging.py:96:log_dist] [Rank 0] Creating fp16 ZeRO stage 3 optimizer\n"
        "[rank1]: RuntimeError: addmm: mat2 must be a matrix, got 1-D tensor\n"
        "RuntimeError: mat2 must be a matrix, got 1-D tensor"
    ): MESSAGE,
    "zero3_init_flag: true\nValueError: Fan in and fan out can not be computed for tensor with fewer than 2 dimensions": MESSAGE,
    FRAME + "RuntimeError: shape '[8, 8]' is invalid for input of size 0": MESSAGE,
    FRAME
    + "RuntimeError: The size of tensor a (8) must match the size of tensor b (0) at non-singleton dimension 2": MESSAGE,
    "AssertionError: {'id': 0, 'status': 'NOT_AVAILABLE', 'numel': 25755648, 'ds_numel': 25755648, 'shape': (50304, 512)}": MESSAGE,
    (
        '  File "/data/train.py", line 9, in main\n    model = FSDP(model)\nRuntimeError: setStorage: sizes [512, 8], strides '
        "[8, 1], storage offset 0, and itemsize 4 requiring a storage size of 16384 are out of bounds for storage of size 0"
    ): MESSAGE,
    (
        "size mismatch for layers.20.fc1.weight: copying a param with shape torch.Size([0]) from checkpoint, "
        "the shape in current model is torch.Size([10240, 2560])."
    ): (
        "layers.20.fc1.weight: the parameter is empty here; ZeRO-3 or FSDP holds it in parts on all ranks, and "
        "nothing gathered it"
    ),
    "RuntimeError: The size of tensor a (0) must match the size of tensor b (512) at non-singleton dimension 1": "the parameter is empty here; ZeRO-3 or FSDP holds it in parts on all ranks, and nothing gathered it",
    "RuntimeError: The size of tensor a (1024) must match the size of tensor b (0) at non-singleton dimension 1": "the parameter is empty here; ZeRO-3 or FSDP holds it in parts on all ranks, and nothing gathered it",
    "RuntimeError: 'weight' must be 2-D": "the parameter is empty here; ZeRO-3 or FSDP holds it in parts on all ranks, and nothing gathered it",
    "RuntimeError: weight should have at least three dimensions": "the parameter is empty here; ZeRO-3 or FSDP holds it in parts on all ranks, and nothing gathered it",
    "RuntimeError: The size of tensor a (0) must match the size of tensor b": "the parameter is empty here; ZeRO-3 or FSDP holds it in parts on all ranks, and nothing gathered it",
    "FSDP(model, auto_wrap_policy=policy)\nThe size of tensor a (0) must match the size of tensor b (1024)": "the parameter is empty here; ZeRO-3 or FSDP holds it in parts on all ranks, and nothing gathered it",
}
NOT_THIS = [
    "- lm_head.weight: found shape torch.Size([32000, 4096]) in the checkpoint and torch.Size([32001, 4096]) in the model",
    "RuntimeError: shape '[8, 8]' is invalid for input of size 0",
    "RuntimeError: running_mean should contain 64 elements not 32",
    "deepspeed --num_gpus 8 train.py\nIndexError: index out of range in self",
    (
        "deepspeed --num_gpus 8 train.py\n\tsize mismatch for fc.weight: copying a param with shape torch.Size([1000, 512]) from "
        "checkpoint, the shape in current model is torch.Size([10, 512])."
    ),
]
