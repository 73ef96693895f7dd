"""Tensors of one operation lie on different devices.

## What happens

An operation raises "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!".
A layer says "Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same".

## Why

- The model is on the GPU and the batch is not (`batch.to(device)` gives a new tensor, it moves nothing in place).
- A tensor is a plain attribute of a module instead of a parameter or buffer, so neither `.to()` nor DataParallel's
  copies move it: on `cuda:0` it works, on the replica on `cuda:1` it fails.
- A tensor is made in `forward` without `device=`, or with a literal `"cuda"` or `"cuda:0"`, while this rank or replica
  computes on another GPU.
- One device is `meta`: weights were never loaded, and the failure is mostly `meta-tensor`.
- The target stays behind, where a model is spread over several GPUs (`device_map="auto"`).

## How to tell

The last line of your own code in the traceback is the operation; print the `.device` of each of its tensors. Under
DataParallel "in replica 1 on device 1" above the message says that a tensor did not follow the copy.

## See also

- [register_buffer](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_buffer): for tensors that move with the module
- [CUDA semantics](https://docs.pytorch.org/docs/stable/notes/cuda.html): device-agnostic code
"""

from gpudoctor import Check, Fix, Kind, Severity

# A tensor type as messages spell it, on one side of a device boundary: torch.cuda.FloatTensor, CUDAFloatType, MPS…
CUDA = r"(torch\.cuda\.|CUDA|MPS)\w+"
PAIR = r"(?P<device>[\w:]+) and (?P<other>[\w:]+)"
KIND = r"(?:backend|device type|device)"
CPU = r"(torch\.(?!cuda)|CPU|Variable\[CPU)\w+\]?"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        # a tensor on meta has no numbers yet: meta-tensor
        rf"Expected all tensors to be on the same device(?!.{{0,60}}\bmeta\b)(, but found at least two devices, {PAIR})?",
        rf"Input type \({CUDA}\) and (weight|bias) type \({CPU}\)",
        rf"Input type \({CPU}\) and (weight|bias) type \({CUDA}\)",
        # 1.0 to 1.5, with and without dtype
        rf"[Ee]xpected (object of )?{KIND} (?P<device>[\w:]+) (and dtype \w+ )?but got {KIND} (?P<other>[\w:]+)",
        rf"[Ee]xpected (object of )?type {CUDA} but (found|got)( type)? {CPU}",
        rf"[Ee]xpected (object of )?type {CPU} but (found|got)( type)? {CUDA}",
        rf"to have the same type as .{{1,80}}; but type ({CUDA} does not equal {CPU}|{CPU} does not equal {CUDA})",
        r"(arguments|tensors) are (located )?on different GPUs",
        r"is on (?P<device>\w+)(:\d+)?, but expected (it|them) to be on (?P<other>\w+)",
        r"tensors are not at the same device, found input tensor at (?P<device>[\w:]+)",
        r"indices should be either (on cpu or )?on the same device as the indexed tensor",
        r"Tensor on device (?!meta)(?P<device>[\w:]+) is not on the expected device (?P<other>[\w:]+)!",
        r"(must|to|should) (all )?(be on|have) (the )?same device( type)?\b(?!.{0,60}\bmeta\b)",
        r"Input, output and indices must be on the current device",
        r"Expected a '(?P<other>\w+)' device type for generator but found '(?P<device>\w+)'",
        r"Placeholder storage has not been allocated on MPS device",
        r"Unhandled FakeTensor Device Propagation for \S+, found two different devices (?P<device>\S+), (?P<other>\S+)",
    ],
    message="the tensors of one operation lie on different devices[: one on <device>, one on <other>]",
    fixes=[
        Fix(
            "Move each batch, and keep what .to() returns",
            "x, target = x.to(device), target.to(device)",
            Kind.EDIT,
        ),
        Fix(
            "Register a tensor that belongs to a module, so that it moves with it",
            'self.register_buffer("mean", torch.zeros(8))  # was: self.mean = torch.zeros(8)',
            Kind.EDIT, proof='self.register_buffer("mean", torch.zeros(8))'),
        Fix(
            "Make tensors in forward on the device of the input",
            "mask = torch.ones(n, device=x.device)",
            Kind.EDIT,
        ),
        Fix(
            "One GPU per process: choose it once, before anything is placed",
            'device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))\ntorch.cuda.set_device(device)',
            Kind.EDIT,
        ),
    ],
)  # fmt: skip
