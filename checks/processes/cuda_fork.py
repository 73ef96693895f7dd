"""CUDA was used before a fork, and again in the child.

## What happens

"Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start
method", often inside "Caught RuntimeError in DataLoader worker process 0". accelerate and Lightning refuse earlier:
"CUDA has been initialized before the `notebook_launcher` could create a forked subprocess". A backward pass in parent and
child is "Unable to handle autograd's threading in combination with fork-based multiprocessing".

## Why

A process that has used CUDA cannot be forked: its child gets a copy of the memory and no connection to the driver.

- A dataset, a transform or `collate_fn` makes tensors on the GPU. Linux forks DataLoader workers until Python 3.13.
- The parent used the GPU, in a notebook cell or while a library was imported, and then started processes.

## How to tell

The last frame of your own code under "Original Traceback" is what uses the GPU in the child. In the parent,
`print(torch.cuda.is_initialized())` right before the processes are started tells whether it is too late.

## See also

- [CUDA in multiprocessing](https://docs.pytorch.org/docs/stable/notes/multiprocessing.html#cuda-in-multiprocessing): `spawn` or `forkserver`
- [vllm#8893](https://github.com/vllm-project/vllm/issues/8893): the same in vLLM's workers
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom
from gpudoctor.facts import FACTORIES, Call, Known, Script, Value

CHILD = r"DataLoader worker process|ForkingPickler|popen_fork|multiprocessing[/\\](?:process|pool)\.py"

IN_LOADER = re.compile(r"DataLoader worker process|data[/\\]_utils[/\\](?:worker|fetch)\.py")
IN_NOTEBOOK = re.compile(r"notebook|ipykernel|interactive env|`?Accelerator`? should only be init")
LOADER = Fix(
    "Keep the dataset and collate_fn on the CPU, and move each batch in the training loop",
    "for x, target in loader:  # DataLoader(..., pin_memory=True)\n    x = x.to(device, non_blocking=True)",
    Kind.EDIT,
    proof="x = x.to(device, non_blocking=True)",
)
TORCHRUN = Fix("Start ranks with torchrun: it forks nothing", "torchrun --nproc-per-node=N train.py")
AFRESH = Fix(
    "Start processes afresh instead of forking, under the main guard",
    'if __name__ == "__main__":\n    torch.multiprocessing.set_start_method("spawn")\n    main()',
    Kind.EDIT,
)
NOTEBOOK = Fix(
    "In a notebook: restart the kernel, and use no GPU before the launcher",
    "notebook_launcher(train, num_processes=2)  # model and Accelerator() are made inside train",
    Kind.EDIT,
)
VLLM = Fix("vLLM's own workers", "export VLLM_WORKER_MULTIPROC_METHOD=spawn")

check = Check(
    severity=Severity.ERROR,
    otherwise="a note where the parent leaves CUDA alone",
    symptoms=[
        r"Cannot re-initialize (?P<device>\w+) in forked subprocess",
        r"(?P<device>CUDA) has been initialized before the `?notebook_launcher\b",
        r"can't create new processes if (?P<device>CUDA) is already initialized",
        r"avoid running any instruction using `?torch\.(?P<device>cuda)`? in any cell",
        r"when verifying a stable environment for the notebook launcher.{0,250}causing (?P<device>CUDA) to be init",
        r"the `?Accelerator`? should only be initialized inside your training function",
        r"Unable to handle (?P<autograd>autograd)'s threading in combination with fork",
        Symptom(
            r"(?:(?P<device>CUDA) error|Cuda failure(?: 3)?|cuda runtime error \(3\) ?):? '?initialization error|"
            r"CUDA_ERROR_NOT_INITIALIZED|cudaErrorInitializationError",
            near=CHILD,
        ),
        r"(?P<device>cuda) runtime error \(3\) : initialization error|THCudaCheck FAIL .{0,200}error=3 : initialization error",
    ],
    message="a process was forked after CUDA was used, and the child uses it too: its copy of CUDA does not work",
    fixes=[LOADER, TORCHRUN, AFRESH, NOTEBOOK, VLLM],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """The first fix is for what was forked: a loader's worker, a cell's function, vLLM's workers, or a rank."""
    text = f"{sighting.around}\n{sighting.line}"
    if IN_LOADER.search(text):
        first = [LOADER]
    elif IN_NOTEBOOK.search(text):
        first = [NOTEBOOK]
    elif "vllm" in text:
        first = [VLLM, AFRESH]
    elif "multiprocessing" in text:
        first = [AFRESH, TORCHRUN]
    else:
        first = []
    message = check.message
    if "autograd" in sighting.groups:
        message = (
            "a process was forked after a backward pass had run in it, and the child runs one too: autograd's threads "
            "are not in the child's copy"
        )
    yield check.found(message, fixes=first + [fix for fix in check.fixes if fix not in first])


@check.code
def code(script: Script) -> Iterator[Finding]:
    """Forked processes that use CUDA, or a data set whose forked workers do."""
    yield from _ranks(script)
    yield from _workers(script)


def _ranks(script: Script) -> Iterator[Finding]:
    if any(True for _ in script.named("multiprocessing.set_start_method")):
        return
    for call in script.named("multiprocessing.Process"):
        if call.receiver.things or not call.reached or call.spawned:
            continue
        child = next((c for c in script.calls if c.spawned and _uses_cuda(c)), None)
        if child is None:
            continue
        parent = next(
            (c for c in script.calls[: call.number] if not c.spawned and c.reached and _uses_cuda(c)), None
        )
        if parent is not None:
            yield check.found(
                f"this Process is forked after line {parent.place} has used CUDA, and uses it too, in line "
                f"{child.place}: CUDA does not survive a fork",
                location=call.place,
            )
        else:
            yield check.found(
                f"this Process is forked, and uses CUDA in line {child.place}: that works only as long as nothing "
                "before it has touched CUDA",
                severity=Severity.NOTE,
                location=call.place,
            )
        return


def _workers(script: Script) -> Iterator[Finding]:
    if any(True for _ in script.named("multiprocessing.set_start_method")):
        return
    working = {
        loader.inner
        for loader in script.of_kind("loader")
        if (made := script.made_by(loader)) is not None
        and type(made.value("num_workers").literal) is int
        and made.value("num_workers").literal > 0
        and not made.given("multiprocessing_context")
    }
    classes = {script.things[number].type for number in working if number >= 0}
    joining = {
        made.value("collate_fn").text.rpartition("::")[2]: made
        for made in (script.made_by(loader) for loader in script.of_kind("loader") if loader.inner in working)
        if made is not None and made.value("collate_fn").known is Known.DEFINED
    }
    for loader in script.of_kind("loader"):
        made = script.made_by(loader)
        source = (
            script.made_by(script.things[loader.inner])
            if loader.inner in working and loader.inner >= 0
            else None
        )
        if made is None or source is None or source.name != "torch.utils.data.TensorDataset":
            continue
        if any(_on_gpu(script, argument.value) for argument in source.arguments.values()):
            yield check.found(
                f"the loader's workers are forked, and take their samples from tensors on the GPU (line {source.place}): "
                "CUDA does not survive a fork",
                location=made.place,
            )
            return
    for call in script.calls:
        if call.scope in joining and _uses_cuda(call):
            yield check.found(
                f"{call.scope} uses CUDA, and joins the samples in the workers of the loader of line {joining[call.scope].place}, "
                "which are forked: CUDA does not survive a fork",
                location=call.place,
            )
            return
        owner, _, method = call.scope.rpartition(".")
        if owner not in classes or method != "__getitem__":
            continue
        if call.name == "<kept>.tensor.__get__" and _on_gpu(script, call.receiver):
            yield check.found(
                f"{owner}.__getitem__ takes samples from a tensor on the GPU, and runs in the loader's workers, which are "
                "forked: CUDA does not survive a fork",
                location=call.place,
            )
            return
        if _uses_cuda(call):
            yield check.found(
                f"{owner}.__getitem__ uses CUDA, and runs in the loader's workers, which are forked: CUDA does not survive "
                "a fork",
                location=call.place,
            )


def _on_gpu(script: Script, value: Value) -> bool:
    """Return whether a tensor surely was made on a GPU, or brought to one, where there is any."""
    if value.known is not Known.TENSOR or value.made < 0:
        return False
    made = script.calls[value.made]
    return _uses_cuda(made) or (made.method == "to" and made.value("device").maybe_cuda)


def _uses_cuda(call: Call) -> bool:
    """Return whether a call surely sets CUDA up in its process."""
    if call.name in STARTING:
        return True
    if call.method == "cuda" and call.name not in ("torch.cuda", ".cuda"):
        return True
    if call.method == "cuda" and call.name == ".cuda":
        return True
    given = call.arguments.get("device")
    return (call.method == "to" or call.name in FACTORIES) and given is not None and given.value.cuda


STARTING = frozenset(
    f"torch.cuda.{name}"
    for name in (
        "init", "set_device", "current_device", "synchronize", "get_device_name", "get_device_properties",
        "get_device_capability", "mem_get_info", "current_stream",
    )
)  # fmt: skip
"""What starts CUDA in its process; `is_available` and `device_count` do not."""
