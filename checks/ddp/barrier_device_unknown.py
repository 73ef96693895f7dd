"""A barrier had to guess which GPU a rank uses.

## What happens

"Rank 0 using best-guess GPU 0 to perform barrier as devices used by this process are currently unknown. This can
potentially cause a hang if this rank to GPU mapping is incorrect", in newer torch "using GPU 0 as device used by this
process is currently unknown", "No device id is provided via `init_process_group` or `barrier`" or "barrier(): using the
device under current context".

## Why

With NCCL a barrier is a small collective on a GPU. `dist.barrier()` came before any other collective, and
`init_process_group` was not told the GPU, so torch takes GPU number rank, modulo the number of GPUs, or the current one.

- The guess is right where rank and GPU go together. Then the warning is all there is to it.
- It is wrong where each process sees one GPU, where GPUs are handed out in another order, or where `set_device` was
  never called: then two ranks meet on one GPU ("Duplicate GPU detected"), or the barrier hangs.

## How to tell

Compare the GPU that each rank names with `nvidia-smi`: one process per GPU, and none of rank 1's on GPU 0.

## See also

- [init_process_group](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.init_process_group): `device_id`
- [torch pull 54991](https://github.com/pytorch/pytorch/pull/54991): why the warning was added
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Call, Script

check = Check(
    severity=Severity.WARNING,
    otherwise="a note for a script",
    symptoms=[
        (
            r"(?:\b[Rr]ank (?P<rank>\d+)\]? {1,3})?using (?:best-guess )?GPU (?P<gpu>\d+) (?:to perform barrier )?"
            r"as devices? used by this process (?:are|is) currently unknown"
        ),
        r"No device id is provided via \W?init_process_group\W? or \W?barrier",
        r"barrier\(\): using the device under current context",
        r"Failed to infer a GPU device id to perform barrier",
    ],
    message="the process group was not told which GPU is its own[, so rank <rank> took GPU <gpu>]; a wrong guess hangs, "
    "or puts two ranks on one GPU",
    fixes=[
        Fix(
            "Choose the GPU first, and tell the process group",
            'torch.cuda.set_device(local_rank)\ndist.init_process_group("nccl", device_id=torch.device("cuda", local_rank))',
            Kind.EDIT,
            proof='dist.init_process_group("nccl", device_id=',
        ),
        Fix("Or tell each barrier (torch before 2.3)", "dist.barrier(device_ids=[local_rank])", Kind.EDIT),
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A barrier over NCCL in a script that tells torch nowhere which GPU this rank has."""
    made = script.process_group
    if made is None or made.given("device_id") or script.frameworks or not _of_nccl(script, made):
        return
    if any(c.name in ("torch.cuda.set_device", "torch.cuda.device") or "CUDA_VISIBLE" in str(c.value("key").literal)
           for c in script.calls):  # fmt: skip
        return
    for call in script.named("torch.distributed.barrier"):
        if not call.given("device_ids") and "group" not in call.arguments and call.reached:
            yield check.found(
                "no torch.cuda.set_device and no device_id tells this barrier which GPU the rank has, so it guesses",
                severity=Severity.NOTE,
                location=call.place,
            )
            return


def _of_nccl(script: Script, made: Call) -> bool:
    """Return whether the barriers of a group are NCCL's: it says so, or a model is wrapped on a GPU and it says nothing."""
    backend = made.value("backend")
    if isinstance(backend.literal, str):
        return backend.literal == "nccl"
    told = any(isinstance(item.literal, str) and "nccl" not in item.literal for item in backend.possible())
    wrapped = (script.made_by(thing) for thing in script.of_kind("ddp"))
    on_gpu = any(
        w is not None and w.given("device_ids") and not w.value("device_ids").is_none for w in wrapped
    )
    return on_gpu and not told
