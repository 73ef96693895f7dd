"""meta-tensor: seen in logs."""

import pytest

from gpudoctor import explain

START = "weights are on the meta device, which holds no numbers"
END = ": they were never loaded, or must be loaded in another way"
EXAMPLES = {
    "NotImplementedError: Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving module from meta to a different device.": (
        START + END
    ),
    "[rank0]: NotImplementedError: Cannot copy out of meta tensor; no data!": START + END,
    "RuntimeError: FSDP parameters should be materialized from meta device before training, but the following were still on meta device: ['wte.weight', 'ln_f.bias']": (
        START.replace("weights are", "weights, among them wte.weight, are") + END
    ),
    "RuntimeError: Tensor.item() cannot be called on meta tensors": START + END,
    "TypeError: can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.": (
        START + END
    ),
    "RuntimeError: Tensor on device meta is not on the expected device cuda:0!": START
    + ", and others on cuda:0"
    + END,
    "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:1 and meta!": (
        START + ", and others on cuda:1" + END
    ),
    "UserWarning: for 0.weight: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, which is a no-op. (Did you mean to pass `assign=True`": (
        "weights, among them 0.weight, are on the meta device, which holds no numbers" + END
    ),
    "ValueError: lm_head.weight is on the meta device, we need a `value` to put in on 0.": (
        "weights, among them lm_head.weight, are on the meta device, which holds no numbers" + END
    ),
    "NotImplementedError: aten::_local_scalar_dense: attempted to run this operator with Meta tensors, but there was no fake impl": (
        START + END
    ),
    "RuntimeError: The model cannot be saved since some parameters are on the meta device.": (
        "weights are on the meta device, which holds no numbers: they were never loaded, or must be loaded in another way"
    ),
    "ValueError: stem.weight is on the meta device because it was offloaded, and its hook is gone": (
        "weights, among them stem.weight, are on the meta device, which holds no numbers: they were never loaded, or must be loaded in another way"
    ),
}
NOT_THIS = [
    "RuntimeError: Tensor on device cpu is not on the expected device meta!",
    "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
    "Some parameters are on the meta device because they were offloaded to the cpu.",
    "Reading metadata of the dataset",
]

MOVED = "    model = model.to(device)\nNotImplementedError: Cannot copy out of meta tensor; no data!"


@pytest.mark.parametrize(
    ("above", "first"),
    [
        ("    model = Net()\n", "Start with fresh weights"),
        ('    model = AutoModel.from_pretrained(path, device_map="auto")\n', "After loading with device_map"),
        (
            "UserWarning: for fc.bias: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, which is a no-op.\n",
            "Load a state dict",
        ),
    ],
)
def test_the_first_fix_is_for_what_left_the_weights_on_meta(above, first):
    (finding,) = explain(above + MOVED).findings
    assert finding.id == "meta-tensor"
    assert finding.fixes[0].summary.startswith(first)
