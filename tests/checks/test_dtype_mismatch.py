"""dtype-mismatch: seen in logs."""

MESSAGE = "an operation got tensors whose number types do not fit together"
EXAMPLES = {
    "RuntimeError: expected Long tensor (got Int tensor)": MESSAGE + ": Int and Long",
    "ValueError: `FlatParameter` requires uniform dtype but got torch.float16 and torch.float32": (
        MESSAGE + ": torch.float16 and torch.float32"
    ),
    "[rank2]: RuntimeError: mat1 and mat2 must have the same dtype, but got Half and Float": (
        MESSAGE + ": Half and Float"
    ),
    "RuntimeError: mat1 and mat2 must have the same dtype": MESSAGE,
    "RuntimeError: expected m1 and m2 to have the same dtype, but got: c10::Half != float": (
        MESSAGE + ": c10::Half and float"
    ),
    "RuntimeError: expected mat1 and mat2 to have the same dtype, but got: float != c10::BFloat16": (
        MESSAGE + ": float and c10::BFloat16"
    ),
    (
        "RuntimeError: Expected query, key, and value to have the same dtype, but got query.dtype: c10::Half key.dtype: float "
        "and value.dtype: float instead."
    ): MESSAGE,
    "RuntimeError: addmv input tensors must have the same dtype, but got Float, Half, and Float": MESSAGE,
    "RuntimeError: dot : expected both vectors to have same dtype, but found Half and Float": (
        MESSAGE + ": Half and Float"
    ),
    "RuntimeError: masked_scatter: expected self and source to have same dtypes but gotFloat and Half": (
        MESSAGE + ": Float and Half"
    ),
    "RuntimeError: expected scalar type Half but found Float": MESSAGE + ": Float and Half",
    (
        "RuntimeError: Expected object of scalar type Long but got scalar type Float for argument #2 'target' in call to "
        "_thnn_nll_loss_forward"
    ): MESSAGE + ": Float and Long",
    (
        "RuntimeError: Expected tensor for argument #1 'indices' to have scalar type Long; but got torch.FloatTensor instead "
        "(while checking arguments for embedding)"
    ): MESSAGE + ": torch.FloatTensor and Long",
    (
        "RuntimeError: Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
        "torch.cuda.FloatTensor instead (while checking arguments for embedding)"
    ): MESSAGE + ": torch.cuda.FloatTensor and Long, Int",
    "RuntimeError: Input type (torch.cuda.HalfTensor) and weight type (torch.cuda.FloatTensor) should be the same": (
        MESSAGE + ": torch.cuda.HalfTensor and torch.cuda.FloatTensor"
    ),
    "RuntimeError: Input type (CUDABFloat16Type) and weight type (torch.cuda.FloatTensor) should be the same": (
        MESSAGE + ": CUDABFloat16Type and torch.cuda.FloatTensor"
    ),
    (
        "RuntimeError: Input type (torch.HalfTensor) and weight type (torch.FloatTensor) should be the same or input should be "
        "a MKLDNN tensor and weight is a dense tensor"
    ): MESSAGE + ": torch.HalfTensor and torch.FloatTensor",
    "RuntimeError: Input type (MPSHalfType) and weight type (MPSFloatType) should be the same": (
        MESSAGE + ": MPSHalfType and MPSFloatType"
    ),
    "RuntimeError: Input type (c10::Half) and bias type (float) should be the same": (
        MESSAGE + ": c10::Half and float"
    ),
    "RuntimeError: Input type (unsigned char) and bias type (float) should be the same": (
        MESSAGE + ": unsigned char and float"
    ),
    "RuntimeError: Expected object of type torch.cuda.LongTensor but found type torch.cuda.FloatTensor for argument #2 'target'": (
        MESSAGE + ": torch.cuda.FloatTensor and torch.cuda.LongTensor"
    ),
    "RuntimeError: Expected object of type torch.FloatTensor but found type torch.LongTensor for argument #2 'mat2'": (
        MESSAGE + ": torch.LongTensor and torch.FloatTensor"
    ),
    "RuntimeError: Expected object of type CUDALongType but found type CUDAIntType for argument #3 'index'": (
        MESSAGE + ": CUDAIntType and CUDALongType"
    ),
    "RuntimeError: Found dtype Double but expected Float": MESSAGE + ": Double and Float",
    "RuntimeError: result type Float can't be cast to the desired output type Long": (
        MESSAGE + ": Float and Long"
    ),
    (
        "RuntimeError: Index put requires the source and destination dtypes match, got Float for the destination and Half for "
        "the source."
    ): MESSAGE + ": Half and Float",
    "RuntimeError: index_add_(): self (Float) and source (Half) must have the same scalar type": (
        MESSAGE + ": Half and Float"
    ),
    "RuntimeError: scatter(): Expected self.dtype to be equal to src.dtype": MESSAGE,
    "RuntimeError: gather(): Expected dtype int64 for index": MESSAGE,
    "RuntimeError: expected target dtype to be Long or Byte, but got Half": (
        MESSAGE + ": Half and Long or Byte"
    ),
    "RuntimeError: expected dtype double for `end` but got dtype float": MESSAGE + ": float and double",
    "ValueError: RNN input dtype (torch.float16) does not match weight dtype (torch.float32). Convert input: ": (
        MESSAGE + ": torch.float16 and torch.float32"
    ),
    (
        "RuntimeError: Input and parameter tensors are not the same dtype, found input tensor with Half and parameter tensor "
        "with Float"
    ): MESSAGE + ": Half and Float",
    "RuntimeError: attempting to assign a gradient with dtype 'c10::Half' to a tensor with grad_dtype 'Float'.": (
        MESSAGE + ": c10::Half and Float"
    ),
    "RuntimeError: assigned grad has data of a different type": MESSAGE,
    "RuntimeError: \"addmm_impl_cpu_\" not implemented for 'Half'": (
        MESSAGE + ": addmm_impl_cpu_ is not made for Half on this device"
    ),
    "ValueError: Must flatten tensors with uniform dtype but got torch.bfloat16 and torch.float32": (
        MESSAGE + ": torch.bfloat16 and torch.float32"
    ),
    "AssertionError: FSDP expects uniform original parameter dtype but got {torch.float32, torch.bfloat16}": MESSAGE,
    "TypeError: output tensor must have the same type as input tensor": MESSAGE,
    "RuntimeError: FlashAttention only support fp16 and bf16 data type": MESSAGE,
    "RuntimeError: mixed dtype (CPU): expect parameter to have scalar type of Float": MESSAGE,
    "RuntimeError: prelu: Type promoting not supported. Got Half and Float": MESSAGE + ": Half and Float",
    "RuntimeError: Input dtypes must be the same, got: input float, batch1: c10::Half, batch2: float": MESSAGE,
    "RuntimeError: All tensors must have the same dtype, got input1: Float, input2: Half": MESSAGE,
    "RuntimeError: Expected tensor for argument #1 'grad_output' to have the same type as tensor for argument #2 'weight'; but type torch.cuda.HalfTensor does not equal torch.cuda.FloatTensor (while checking arguments for cudnn_convolution_backward_input)": (
        MESSAGE + ": torch.cuda.HalfTensor and torch.cuda.FloatTensor"
    ),
    "RuntimeError: Expected tensor for argument #1 'input' to have the same type as tensor for argument #2 'weight'; but type CPUHalfType does not equal CPUFloatType": (
        MESSAGE + ": CPUHalfType and CPUFloatType"
    ),
    "RuntimeError: Expected tensor for argument #1 'input' to have the same type as tensor for argument #2 'weight'; but type torch.HalfTensor does not equal torch.FloatTensor (while checking arguments for convolution)": (
        MESSAGE + ": torch.HalfTensor and torch.FloatTensor"
    ),
    "RuntimeError: Expected tensor for argument #1 'input' to have the same type as tensor for argument #2 'weight'; but type CUDAHalfType does not equal CUDAFloatType (while checking arguments for convolution)": (
        MESSAGE + ": CUDAHalfType and CUDAFloatType"
    ),
    "ValueError: gates expects both to have the same dtype, got torch.float16 and torch.float32": (
        "an operation got tensors whose number types do not fit together: float16 and float32"
    ),
    "RuntimeError: bias dtype (torch.float32) must match A dtype (torch.float16)": (
        "an operation got tensors whose number types do not fit together: float32 and float16"
    ),
    "ValueError: Expected out.dtype == torch.float16, got torch.float32": (
        "an operation got tensors whose number types do not fit together: float32 and float16"
    ),
    "RuntimeError: self and mat2 must have the same dtype": "an operation got tensors whose number types do not fit together",
    "TypeError: Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64.": "an operation got tensors whose number types do not fit together",
    "ValueError: Query/Key/Value should either all have the same dtype, or be quantized": "an operation got tensors whose number types do not fit together",
    "TypeError: Got unsupported ScalarType BFloat16": "an operation got tensors whose number types do not fit together",
    "RuntimeError: value cannot be converted to type at::Half without overflow": "an operation got tensors whose number types do not fit together",
}
NOT_THIS = [
    "ValueError: Attempting to unscale FP16 gradients.",
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
