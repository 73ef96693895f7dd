"""dtype-mismatch: seen in logs."""

EXAMPLES = [
    "[rank2]: RuntimeError: mat1 and mat2 must have the same dtype, but got Half and Float",
    "RuntimeError: mat1 and mat2 must have the same dtype",
    "RuntimeError: expected m1 and m2 to have the same dtype, but got: c10::Half != float",
    "RuntimeError: expected mat1 and mat2 to have the same dtype, but got: float != c10::BFloat16",
    (
        "RuntimeError: Expected query, key, and value to have the same dtype, but got query.dtype: c10::Half key.dtype: float "
        "and value.dtype: float instead."
    ),
    "RuntimeError: addmv input tensors must have the same dtype, but got Float, Half, and Float",
    "RuntimeError: dot : expected both vectors to have same dtype, but found Half and Float",
    "RuntimeError: masked_scatter: expected self and source to have same dtypes but gotFloat and Half",
    "RuntimeError: expected scalar type Half but found Float",
    (
        "RuntimeError: Expected object of scalar type Long but got scalar type Float for argument #2 'target' in call to "
        "_thnn_nll_loss_forward"
    ),
    (
        "RuntimeError: Expected tensor for argument #1 'indices' to have scalar type Long; but got torch.FloatTensor instead "
        "(while checking arguments for embedding)"
    ),
    (
        "RuntimeError: Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
        "torch.cuda.FloatTensor instead (while checking arguments for embedding)"
    ),
    "RuntimeError: Input type (torch.cuda.HalfTensor) and weight type (torch.cuda.FloatTensor) should be the same",
    "RuntimeError: Input type (CUDABFloat16Type) and weight type (torch.cuda.FloatTensor) should be the same",
    (
        "RuntimeError: Input type (torch.HalfTensor) and weight type (torch.FloatTensor) should be the same or input should be "
        "a MKLDNN tensor and weight is a dense tensor"
    ),
    "RuntimeError: Input type (MPSHalfType) and weight type (MPSFloatType) should be the same",
    "RuntimeError: Input type (c10::Half) and bias type (float) should be the same",
    "RuntimeError: Input type (unsigned char) and bias type (float) should be the same",
    "RuntimeError: Expected object of type torch.cuda.LongTensor but found type torch.cuda.FloatTensor for argument #2 'target'",
    "RuntimeError: Expected object of type torch.FloatTensor but found type torch.LongTensor for argument #2 'mat2'",
    "RuntimeError: Expected object of type CUDALongType but found type CUDAIntType for argument #3 'index'",
    "RuntimeError: Found dtype Double but expected Float",
    "RuntimeError: result type Float can't be cast to the desired output type Long",
    (
        "RuntimeError: Index put requires the source and destination dtypes match, got Float for the destination and Half for "
        "the source."
    ),
    "RuntimeError: index_add_(): self (Float) and source (Half) must have the same scalar type",
    "RuntimeError: scatter(): Expected self.dtype to be equal to src.dtype",
    "RuntimeError: gather(): Expected dtype int64 for index",
    "RuntimeError: expected target dtype to be Long or Byte, but got Half",
    "RuntimeError: expected dtype double for `end` but got dtype float",
    "ValueError: RNN input dtype (torch.float16) does not match weight dtype (torch.float32). Convert input: ",
    (
        "RuntimeError: Input and parameter tensors are not the same dtype, found input tensor with Half and parameter tensor "
        "with Float"
    ),
    "RuntimeError: attempting to assign a gradient with dtype 'c10::Half' to a tensor with grad_dtype 'Float'.",
    "RuntimeError: assigned grad has data of a different type",
    "ValueError: Attempting to unscale FP16 gradients.",
    "RuntimeError: \"addmm_impl_cpu_\" not implemented for 'Half'",
    "ValueError: Must flatten tensors with uniform dtype but got torch.bfloat16 and torch.float32",
    "AssertionError: FSDP expects uniform original parameter dtype but got {torch.float32, torch.bfloat16}",
    "TypeError: output tensor must have the same type as input tensor",
    "RuntimeError: FlashAttention only support fp16 and bf16 data type",
    "RuntimeError: mixed dtype (CPU): expect parameter to have scalar type of Float",
    "RuntimeError: prelu: Type promoting not supported. Got Half and Float",
    "RuntimeError: Input dtypes must be the same, got: input float, batch1: c10::Half, batch2: float",
    "RuntimeError: All tensors must have the same dtype, got input1: Float, input2: Half",
    "RuntimeError: Expected tensor for argument #1 'grad_output' to have the same type as tensor for argument #2 'weight'; but type torch.cuda.HalfTensor does not equal torch.cuda.FloatTensor (while checking arguments for cudnn_convolution_backward_input)",
    "RuntimeError: Expected tensor for argument #1 'input' to have the same type as tensor for argument #2 'weight'; but type CPUHalfType does not equal CPUFloatType",
    "RuntimeError: Expected tensor for argument #1 'input' to have the same type as tensor for argument #2 'weight'; but type torch.HalfTensor does not equal torch.FloatTensor (while checking arguments for convolution)",
    "RuntimeError: Expected tensor for argument #1 'input' to have the same type as tensor for argument #2 'weight'; but type CUDAHalfType does not equal CUDAFloatType (while checking arguments for convolution)",
]
NOT_THIS = [
    "RuntimeError: Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same",
    "RuntimeError: Input type (CUDAHalfType) and weight type (CPUFloatType) should be the same",
    "RuntimeError: Expected object of type torch.cuda.FloatTensor but found type torch.FloatTensor for argument #2 'other'",
    "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x8 and 16x2)",
    (
        "UserWarning: Mismatch dtype between input and weight: input dtype = c10::Half, weight dtype = float, Cannot dispatch "
        "to fused implementation."
    ),
    "ValueError: Invalid usage: tensors must have the same dtype",
]
SAYS = {
    EXAMPLES[0]: "an operation got tensors whose number types do not fit together: Half and Float",
    EXAMPLES[1]: "an operation got tensors whose number types do not fit together",
    EXAMPLES[5]: "an operation got tensors whose number types do not fit together",
    EXAMPLES[
        34
    ]: "an operation got tensors whose number types do not fit together: addmm_impl_cpu_ is not made for Half on "
    "this device",
}
