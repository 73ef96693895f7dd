"""state-dict-shape: seen in logs."""

from gpudoctor.logs.symptoms import matches
from gpudoctor.registry import Registry

CHECK = Registry().check("state-dict-shape")
EXAMPLES = [
    (
        "RuntimeError: Error(s) in loading state_dict for ResNet:\n\tsize mismatch for fc.weight: copying a param with shape "
        "torch.Size([1000, 512]) from checkpoint, the shape in current model is torch.Size([10, 512])."
    ),
    (
        "\tsize mismatch for module.fc.bias: copying a param of torch.Size([1000]) from checkpoint, where the shape is "
        "torch.Size([10]) in current model."
    ),
    (
        "[rank0]: \tsize mismatch for transformer.wte.weight: copying a param with shape torch.Size([50304, 512]) from "
        "checkpoint, the shape in current model is torch.Size([0])."
    ),
    (
        "\tsize mismatch for queue: copying a param with shape torch.Size([0]) from checkpoint, the shape in current model is "
        "torch.Size([128, 4096])."
    ),
    "size mismatch for head.weight: copying a param with shape torch.Size([100",
    (
        "RuntimeError: While copying the parameter named fc.weight, whose dimensions in the model are torch.Size([10, 512]) "
        "and whose dimensions in the checkpoint are torch.Size([1000, 512])."
    ),
    "\tYou may consider adding `ignore_mismatched_sizes=True` in the model `from_pretrained` method.",
    (
        "classifier.weight | MISMATCH | Reinit due to size mismatch - ckpt: torch.Size([2, 768]) vs model:torch.Size([3, 768])\n\n"
        "RuntimeError: You set `ignore_mismatched_sizes` to `False`, thus raising an error. For details look at the above report!"
    ),
    (
        'ValueError: Trying to set a tensor of shape torch.Size([320]) in "weight" (which has shape torch.Size([640])), this '
        "looks incorrect."
    ),
    (
        "ValueError: Cannot load /data/unet because conv_in.weight expected shape tensor(..., device='meta', size=(320, 9, 3, 3)), "
        "but got torch.Size([320, 4, 3, 3]). If you want to instead overwrite randomly initialized weights"
    ),
    "ValueError: Size mismatch between saved torch.Size([2]) and current: torch.Size([3]) for layers.0.bias",
    "RuntimeError: The model and loaded state dict do not match exactly\n\nthese keys have mismatched shape:",
    "ValueError: loaded state dict contains a parameter group that doesn't match the size of optimizer's group",
    (
        "deepspeed.runtime.zero.utils.ZeRORuntimeException: The checkpoint being loaded used a DP world size of 8 but the "
        "current world size is 4. Automatic adjustment of ZeRO's optimizer state partitioning with a new world size is not "
        "currently supported."
    ),
]
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
SAYS = {}


def said(text):
    return matches(text, [CHECK])[0].finding


def test_both_sizes_are_told():
    assert said(EXAMPLES[0]).message == (
        "fc.weight is [1000, 512] in the file and [10, 512] in the model: another number of classes or tokens, or another "
        "variant"
    )
    assert (
        said(EXAMPLES[4]).message == "head.weight has another size in the model, and cannot be copied into it"
    )
    assert said(EXAMPLES[6]).message.startswith("tensors of the file have another size")


def test_an_empty_parameter_is_one_that_zero3_keeps_in_parts():
    finding = said(EXAMPLES[2])
    assert "ZeRO-3" in finding.message
    assert "GatheredParameters" in finding.fixes[0].command


def test_an_optimizer_and_its_ranks_have_fixes_of_their_own():
    assert "optimizer was saved with other parameters" in said(EXAMPLES[12]).message
    assert (
        said(EXAMPLES[13]).message
        == "the checkpoint's optimizer state is in 8 parts, and this run has 4 ranks"
    )
    assert said(EXAMPLES[13]).fixes[0].command == "torchrun --nproc-per-node=8 train.py"
