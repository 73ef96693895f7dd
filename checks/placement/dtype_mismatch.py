"""The tensors of one operation have different number types.

## What happens

"mat1 and mat2 must have the same dtype, but got Half and Float", "expected scalar type Long but found Float", "Input
type (torch.cuda.HalfTensor) and weight type (torch.cuda.FloatTensor) should be the same", "Found dtype Double but
expected Float". It looks like tensors on different devices, and is not: both are on the GPU, or both on the CPU.

## Why

- The model is in half or bfloat16 and the input in float: `torch.autocast` is missing around this forward, often in
  evaluation, in `generate`, or in a part that was added after `.half()`.
- Some layers stay in float: LayerNorm, `lm_head`, LoRA adapters, quantised layers beside others.
- Numpy gives float64 (`Double`). Class labels must be `Long`, targets of a regression `Float`.
- An operation has no half version on the CPU: `"addmm_impl_cpu_" not implemented for 'Half'`.
- FSDP and DeepSpeed put parameters into one buffer, which has one type.

## How to tell

The last line of your own code in the traceback is the operation: print the `.dtype` of each of its tensors.
`{p.dtype for p in model.parameters()}` shows whether the model is of one type.

## See also

- [Automatic mixed precision](https://docs.pytorch.org/docs/stable/amp.html): which operation runs in which type under autocast
- [Automatic mixed precision examples](https://docs.pytorch.org/docs/stable/notes/amp_examples.html): where autocast is in a training loop
"""

from gpudoctor import Check, Fix, Kind, Severity

# Types as messages spell them, of one device on both sides; of two, it is device-mismatch.
KINDS = [
    r"(?:torch\.cuda\.|CUDA)\w+",
    r"(?:torch\.(?!cuda)|CPU)\w+",
    r"MPS\w+",
    r"(?!torch|CPU|CUDA|MPS)[\w: ]+",
]
TENSORS = [
    rf"(?:Variable\[)?{kind}\]?"
    for kind in (r"torch\.cuda\.\w+Tensor", r"torch\.(?!cuda)\w+Tensor", r"CUDA\w+Type")
]
PAIR = r"(?P<one>[\w.:]+?),? (?:and|!=) (?P<other>[\w.:]+)"

# what labels and indices must be
WHOLE = r"(?=(?P<whole>Long)\b|)"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        (
            r"(?:mat1 and mat2|m1 and m2|input tensors|[Ee]xpected [\w, ]{1,40}) (?:must|to) have (?:the )?same (?:dtypes?|scalar type)"
            rf"(?:,? but (?:got|found):? ?{PAIR})?"
        ),
        rf"[Ee]xpected (?:object of )?scalar type {WHOLE}(?P<other>\w+) but (?:found|got)(?: scalar type)? (?P<one>\w+)",
        rf"to have (?:scalar type|one of the following scalar types:?) {WHOLE}(?P<other>\w+(?:, \w+)*); but got (?P<one>[\w.]+) instead",
        *(
            rf"Input type \((?P<one>{kind})\) and (?:weight|bias) type \((?P<other>{kind})\) should be the same"
            for kind in KINDS
        ),
        *(
            rf"[Ee]xpected (?:object of )?type (?P<other>{kind}) but (?:found|got)(?: type)? (?P<one>{kind})"
            for kind in TENSORS
        ),
        *(
            rf"to have the same type as .{{1,80}}; but type (?P<one>{kind}) does not equal (?P<other>{kind})"
            for kind in (r"torch\.cuda\.\w+", r"torch\.(?!cuda)\w+", r"CUDA\w+", r"CPU\w+")
        ),
        r"[Ee]xpected (?P<other>Double|Float|Long|Half|Int|Byte) (?:tensor )?\(got (?P<one>Double|Float|Long|Half|Int|Byte)(?: tensor)?\)",  # until 0.2
        r"Found dtype (?P<one>\w+) but expected (?P<other>\w+)",
        r"result type (?P<one>\w+) can't be cast to the desired output type (?P<other>\w+)",
        r"source and destination dtypes match, got (?P<other>\w+) for the destination and (?P<one>\w+) for the source",
        r"self \((?P<other>\w+)\) and source \((?P<one>\w+)\) must have the same (?:scalar type|dtype)",
        r"Expected self\.dtype to be equal to src\.dtype",
        r"Expected dtype (?P<other>int\S+) for index",
        rf"[Ee]xpected (?:target )?dtype (?:to be )?{WHOLE}(?P<other>\w+(?: or \w+)?)(?: for `?\w+`?)?,? but got (?:dtype )?(?P<one>\w+)",
        r"RNN input dtype \((?P<one>[\w.]+)\) does not match weight dtype \((?P<other>[\w.]+)\)",
        r"tensors are not the same dtype, found input tensor with (?P<one>\w+) and parameter tensor with (?P<other>\w+)",
        r"assign a gradient with dtype '(?P<one>[\w.:]+)' to a tensor with grad_dtype '(?P<other>[\w.:]+)'",
        r"assigned grad has data of a different type",
        r"\"(?P<kernel>\w+)\" not implemented for '(?P<unsupported>\w+)'",
        # FSDP until torch 2.0, and since
        rf"FlatParameter\W? requires uniform dtype(?: but got {PAIR})?",
        rf"Must flatten tensors with uniform dtype but got {PAIR}",
        r"FSDP expects uniform original parameter dtype but got",
        r"output tensor must have the same type as input tensor",
        r"Flash ?Attention only supports? fp16 and bf16",
        r"mixed dtype \(CPU\): (?:all inputs must share same datatype|expect \w+ to have scalar type)",
        r"Type promoting not supported\. Got (?P<one>\w+) and (?P<other>\w+)",
        r"Input dtypes must be the same, got: ",
        r"All tensors must have the same dtype, got input",
        r"(?:the same|identical|one|must share) dtypes?[.,:]? (?:but )?[Gg]ot:? '?torch\.(?P<one>\w+)'? (?:vs\.?|and) '?torch\.(?P<other>\w+)",
        r"\bdtype \(torch\.(?P<one>\w+)\) must match \w+ dtype \(torch\.(?P<other>\w+)\)",
        r"\b[Ee]xpected [\w.]{1,60}\.dtype == torch\.(?P<other>\w+), (?:but )?got torch\.(?P<one>\w+)",
        r"(?:self and mat2|\w{2,12} and \w{2,12}) must have the same (?:dtype|scalar type)\b",
        r"Cannot convert a MPS Tensor to (?P<one>float64) dtype",
        r"Query/Key/Value should (?:either )?all have the same dtype",  # xFormers
        r"Got unsupported ScalarType (?P<unsupported>\w+)",  # numpy() of what NumPy has not
        r"value cannot be converted to type (?:\w+::)?(?P<one>Half|BFloat16|half) without overflow",
    ],
    message="an operation got tensors whose number types do not fit together[: <one> and <other>][: <kernel> is not made for "
    "<unsupported> on this device]",
    fixes=[
        Fix(
            "Labels of classes, and indices, are whole numbers (<whole>): make them so",
            "target = target.long()",
            Kind.EDIT,
        ),
        Fix(
            "Give the input the model's type",
            "x = x.to(next(model.parameters()).dtype)",
            Kind.EDIT,
            proof="x = x.to(next(model.parameters()).dtype)",
        ),
        Fix(
            "Let autocast choose the types, in evaluation too; it leaves float64 (Double) as it is",
            'with torch.autocast("cuda", dtype=torch.bfloat16):\n    loss = loss_function(model(x), target)',
            Kind.EDIT,
        ),
        Fix(
            "Make what comes from numpy float",
            "x = torch.from_numpy(array).float()",
            Kind.EDIT,
        ),
        Fix(
            "Give all parameters one type before FSDP or DeepSpeed wraps the model",
            "model = model.to(torch.bfloat16)",
            Kind.EDIT,
        ),
    ],
)
