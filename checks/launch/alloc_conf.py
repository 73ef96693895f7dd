"""PYTORCH_CUDA_ALLOC_CONF has a value that this torch does not accept.

## What happens

"Unrecognized CachingAllocator option: expandable_segments", "Expected 'True' or 'False' at index 2 in ConfigTokenizer",
or a bare "stoull", at the first use of CUDA. The line of the traceback (`.cuda()`, `set_device`) is innocent.

## Why

- The option is newer than torch: `expandable_segments` came with 2.1.
- The form: `name:value,name:value`, no spaces, no `=`, `True` and not `true`. Quotes that Docker's `-e`, an `.env`
  file or YAML passes on are part of the value.
- A value out of range, such as a `max_split_size_mb` of 20 or less.
- Accepted, but not for this: GPU tensors in expandable segments cannot always be handed to another process.

torch 2.9 calls the variable PYTORCH_ALLOC_CONF and still reads the old name. Libraries and scripts set it as well.

## How to tell

`printenv | grep ALLOC_CONF`, and `grep -rn ALLOC_CONF .` for the place that sets it.

## See also

- [PYTORCH_ALLOC_CONF](https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-alloc-conf): every option and its values
- [pytorch#123505](https://github.com/pytorch/pytorch/issues/123505): the message, under Python 3.7
"""

from gpudoctor import Check, Fix, Severity, Symptom

NEAR = r"ALLOC_CONF|[Aa]llocator|_cuda_init|_lazy_init|AllocatorSettings"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"Unrecognized key '(?P<option>[^']*)' in \w+ allocator config",
        r"Unrecognized CachingAllocator option: '?(?P<option>[\w=\"']+)",
        r"Expected '[^']{1,40}'(?: or '[^']{1,40}')? at index \d+ in ConfigTokenizer but got '(?P<value>.{1,60}?)'(?: |$)",
        r"(?:Index out of bounds|Expected closing bracket .{1,40}) in ConfigTokenizer",
        r"(?P<option>max_split_size_mb|garbage_collect(?:ion)?_threshold) (?:too (?:small|big), |is invalid, set it)",
        r"(?P<option>per_process_memory_fraction) is invalid, set it in",
        r"Error, expecting (?P<option>[\w-]+) value",
        r"Error parsing (?:CachingAllocator settings, expected|backend value)",
        r"Expected a single True/False argument for (?P<option>\w+)",
        r"For roundups, the divis\w+ has to be power of 2",
        r"Unknown allocator backend, options are native and cudaMallocAsync",
        r"Allocator backend parsed at runtime != allocator backend parsed at load time",
        r"(?P<option>backend:cudaMallocAsync) requires CUDA runtime",
        r"Pinned reserve segment size has to be greater than 0|Number of register threads has to be power of 2",
        Symptom(r"ValueError: (?P<value>sto(?:ull|d|i|ul))\b *$", near=NEAR),
        r"Tensors allocated with (?P<option>expandable_segments):True cannot be shared between processes",
        r"Cannot share an (?P<option>expandable_segments) allocation",
        r"pidfd_\w+ syscall needed to use IPC for CUDA tensors when (?P<option>expandable_segments):True",
        r"(?P<option>cudaMallocAsync) does not yet support \w+",
    ],
    message="PYTORCH_CUDA_ALLOC_CONF does not fit this torch or this use[, at the option <option>][, at the value <value>]",
    fixes=[
        Fix("Do without it", "unset PYTORCH_CUDA_ALLOC_CONF PYTORCH_ALLOC_CONF PYTORCH_HIP_ALLOC_CONF"),
        Fix(
            "Write it as torch reads it",
            "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,garbage_collection_threshold:0.8",
        ),
        Fix(
            "See who sets it",
            "printenv | grep ALLOC_CONF; grep -rn ALLOC_CONF --include='*.py' --include='*.sh' .",
        ),
        Fix(
            "For GPU tensors that go to another process",
            "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False",
        ),
        Fix("Take a torch that knows the option", "python -m pip install --upgrade torch"),
    ],
    no_reproduction="needs a GPU",
)
