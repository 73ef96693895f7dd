"""state-dict-shape: seen in logs."""

from gpudoctor.logs.symptoms import matches
from gpudoctor.registry import Registry

CHECK = Registry().check("state-dict-shape")
MESSAGE = (
    "fc.weight is [1000, 512] in the file and [10, 512] in the model: another number of classes or tokens, or "
    "another variant"
)
ZERO3 = (
    "[rank0]: \tsize mismatch for transformer.wte.weight: copying a param with shape torch.Size([50304, 512]) from "
    "checkpoint, the shape in current model is torch.Size([0])."
)
OPTIMIZER = "ValueError: loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
ZERO_RANKS = (
    "deepspeed.runtime.zero.utils.ZeRORuntimeException: The checkpoint being loaded used a DP world size of 8 but the "
    "current world size is 4. Automatic adjustment of ZeRO's optimizer state partitioning with a new world size is not "
    "currently supported."
)
EXAMPLES = {
    "ValueError: loaded state dict has a different number of parameter groups": (
        "the optimizer was saved with other parameters than it has now"
    ),
    (
        "RuntimeError: Error(s) in loading state_dict for ResNet:\n\tsize mismatch for fc.weight: copying a param with shape "
        "torch.Size([1000, 512]) from checkpoint, the shape in current model is torch.Size([10, 512])."
    ): MESSAGE,
    (
        "\tsize mismatch for module.fc.bias: copying a param of torch.Size([1000]) from checkpoint, where the shape is "
        "torch.Size([10]) in current model."
    ): (
        "module.fc.bias is [1000] in the file and [10] in the model: another number of classes or tokens, or "
        "another variant"
    ),
    ZERO3: (
        "transformer.wte.weight is [50304, 512] in the file and [0] in the model: DeepSpeed's ZeRO-3 keeps it "
        "in parts, and nothing can be copied into it"
    ),
    (
        "\tsize mismatch for queue: copying a param with shape torch.Size([0]) from checkpoint, the shape in current model is "
        "torch.Size([128, 4096])."
    ): (
        "queue is [0] in the file and [128, 4096] in the model: another number of classes or tokens, or "
        "another variant"
    ),
    "size mismatch for head.weight: copying a param with shape torch.Size([100": (
        "head.weight has another size in the model, and cannot be copied into it"
    ),
    (
        "RuntimeError: While copying the parameter named fc.weight, whose dimensions in the model are torch.Size([10, 512]) "
        "and whose dimensions in the checkpoint are torch.Size([1000, 512])."
    ): MESSAGE,
    "\tYou may consider adding `ignore_mismatched_sizes=True` in the model `from_pretrained` method.": (
        "tensors of the file have another size in the model, and cannot be copied into it"
    ),
    (
        "classifier.weight | MISMATCH | Reinit due to size mismatch - ckpt: torch.Size([2, 768]) vs model:torch.Size([3, 768])\n\n"
        "RuntimeError: You set `ignore_mismatched_sizes` to `False`, thus raising an error. For details look at the above report!"
    ): (
        "classifier.weight is [2, 768] in the file and [3, 768] in the model: another number of classes or "
        "tokens, or another variant"
    ),
    (
        'ValueError: Trying to set a tensor of shape torch.Size([320]) in "weight" (which has shape torch.Size([640])), this '
        "looks incorrect."
    ): (
        "weight is [320] in the file and [640] in the model: another number of classes or tokens, or another "
        "variant"
    ),
    (
        "ValueError: Cannot load /data/unet because conv_in.weight expected shape tensor(..., device='meta', size=(320, 9, 3, 3)), "
        "but got torch.Size([320, 4, 3, 3]). If you want to instead overwrite randomly initialized weights"
    ): "conv_in.weight has another size in the model, and cannot be copied into it",
    "ValueError: Size mismatch between saved torch.Size([2]) and current: torch.Size([3]) for layers.0.bias": (
        "layers.0.bias is [2] in the file and [3] in the model: another number of classes or tokens, or "
        "another variant"
    ),
    "RuntimeError: The model and loaded state dict do not match exactly\n\nthese keys have mismatched shape:": (
        "tensors of the file have another size in the model, and cannot be copied into it"
    ),
    OPTIMIZER: "the optimizer was saved with other parameters than it has now",
    ZERO_RANKS: "the checkpoint's optimizer state is in 8 parts, and this run has 4 ranks",
    "CheckpointingException: Global shape mismatch for loaded (torch.Size([8, 4])) and expected (torch.Size([16, 4])) tensor for key stem.weight": (
        "stem.weight is [8, 4] in the file and [16, 4] in the model: another number of classes or tokens, or another variant"
    ),
    "copying a param of torch.Size([12]) from checkpoint, where the shape is torch.Size([80]) in current model.": "a parameter is [12] in the file and [80] in the model: another number of classes or tokens, or another variant",
}
NOT_THIS = [
    (
        "The model and loaded state dict do not match exactly\n\nsize mismatch for roi_head.bbox_head.fc_cls.weight: copying a "
        "param with shape torch.Size([81, 1024]) from checkpoint, the shape in current model is torch.Size([4, 1024])."
    ),
    (
        'While copying the parameter named "fc.weight", whose dimensions in the model are torch.Size([2]) and whose dimensions '
        "in the checkpoint are torch.Size([2]), an exception occurred : ('CUDA error: device-side assert triggered',)."
    ),
    "- classifier.weight: found shape torch.Size([2, 768]) in the checkpoint and torch.Size([3, 768]) in the model instantiated",
    "classifier.weight | MISMATCH | Reinit due to size mismatch - ckpt: torch.Size([2, 768]) vs model:torch.Size([3, 768])",
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x512 and 2048x10)",
    "RuntimeError: params[0] in this process with sizes [64, 3] appears not to match sizes of the same param in process 0.",
    '\tMissing key(s) in state_dict: "fc.weight". ',
    (
        "Skip loading parameter 'fc.weight' to the model due to incompatible shapes: (81, 64) in the checkpoint but (3, 64) in the "
        "model! You might want to double check if this is expected."
    ),
]


def said(text):
    return matches(text, [CHECK])[0].finding


def test_an_empty_parameter_is_one_that_zero3_keeps_in_parts():
    assert "GatheredParameters" in said(ZERO3).fixes[0].command


def test_an_optimizer_and_its_ranks_have_fixes_of_their_own():
    assert "the same parameters, in the same groups" in said(OPTIMIZER).fixes[0].summary
    assert said(ZERO_RANKS).fixes[0].command == "torchrun --nproc-per-node=8 train.py"
