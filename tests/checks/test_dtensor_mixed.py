"""dtensor-mixed: seen in logs."""

EXAMPLES = {
    "	While copying the parameter named \"w\", whose dimensions in the model are torch.Size([4, 4]) and whose dimensions in the checkpoint are torch.Size([4, 4]), an exception occurred : ('aten.copy_.default got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling distributed operators!',).": (
        "an operation, aten.copy_.default, got sharded tensors (DTensor) and ordinary ones"
    ),
    "RuntimeError: aten.mm.default got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling distributed operators!": (
        "an operation, aten.mm.default, got sharded tensors (DTensor) and ordinary ones"
    ),
    "[rank0]: RuntimeError: aten._foreach_norm.Scalar: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling distributed operators!": (
        "an operation, aten._foreach_norm.Scalar, got sharded tensors (DTensor) and ordinary ones"
    ),
    "got mixed torch.Tensor and DTensor, need to convert all": (
        "an operation got sharded tensors (DTensor) and ordinary ones"
    ),
}
NOT_THIS = [
    "ValueError: contains `DTensor` parameters, which is incompatible with DDP",
    "using mixed precision with DTensor parameters",
]
