"""A notebook asks for a launch that only a script can have.

## What happens

"`Trainer(strategy='ddp')` is not compatible with an interactive environment", or "Selected distributed backend ddp is not
compatible with an interactive environment". Other launches from a notebook fail in words of their own: mp.spawn in a cell
with "Can't get attribute 'train' on <module '__main__' (built-in)>" (`spawn-pickle`), accelerate's `notebook_launcher` after
CUDA was used with "could create a forked subprocess" (`cuda-fork`).

## Why

A launcher starts the script once more for each GPU. A notebook is no file that could be started again: its functions exist
in the kernel's memory alone. What is left is *fork*, a copy of the running process, and that works only as long as
nothing has used CUDA in it.

## How to tell

`import torch; torch.cuda.is_initialized()` in a cell just before the launch must print False. A `.cuda()`, a
`torch.zeros(1, device="cuda")` or an `Accelerator()` in any cell before makes it True until the kernel is restarted.

## See also

- [accelerate: notebook_launcher](https://huggingface.co/docs/accelerate/basic_tutorials/notebook): starts the ranks from a cell
- [Lightning in notebooks](https://lightning.ai/docs/pytorch/stable/common/notebooks.html): their limits with several GPUs
- [lightning#7550](https://github.com/Lightning-AI/pytorch-lightning/issues/7550): why `ddp_spawn` does not work there
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Known, Script, written_variables

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"(?P<what>strategy='\w+'|distributed backend \w+)\W{0,3}(?: or .{0,80})? is not compatible with an interactive",
        r"MisconfigurationException: (?!.{0,120}(?:strategy='|distributed backend)).{0,120}is not compatible with an interactive",
    ],
    message="this launch does not work in a notebook[: <what>]; its cells are no script that "
    "could be started again",
    fixes=[
        Fix(
            "Write the training into a file, in a cell that begins with `%%writefile train.py`, and start that",
            "!torchrun --standalone --nproc-per-node=N train.py",
        ),
        Fix(
            "Or, in Lightning, the strategy that forks",
            'Trainer(strategy="ddp_notebook", devices=2)',
            Kind.EDIT,
        ),
        Fix(
            "Or restart the kernel, use CUDA in no cell, and let accelerate fork",
            "from accelerate import notebook_launcher\n\nnotebook_launcher(train, num_processes=2)  # Accelerator() inside of train",
            Kind.EDIT,
        ),
    ],
    no_reproduction="needs a notebook",
)


LAUNCHERS = frozenset(
    {"notebook_launcher", "elastic_launch", "TorchDistributor", "DeepspeedTorchDistributor"}
)
"""What sets RANK, WORLD_SIZE and MASTER_ADDR in the processes that it starts from a cell: accelerate's, torch's and Spark's."""


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A notebook that starts processes by spawn with a function that it defines itself."""
    if not script.notebook or any(call.name.rpartition(".")[2] in LAUNCHERS for call in script.calls):
        return
    written = written_variables(script)
    made = script.process_group
    if (
        made is not None
        and not made.given("rank")
        and not made.given("init_method")
        and written is not None
        and "RANK" not in written
    ):
        yield check.found(
            "init_process_group reads RANK, WORLD_SIZE and MASTER_ADDR, which torchrun sets, and nothing in this notebook "
            "does: torchrun starts scripts, not notebooks",
            location=made.place,
        )
    for call in script.named("torch.multiprocessing.spawn"):
        if call.value("fn").known is Known.DEFINED and call.value("start_method").literal != "fork":
            yield check.found(
                f"{call.arguments['fn'].text} is defined in this notebook, and mp.spawn's children import it from a module: "
                "a notebook is none, and they end with an AttributeError",
                location=call.place,
            )
