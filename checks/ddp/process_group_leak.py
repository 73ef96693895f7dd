"""The program ended without destroying its process group.

## What happens

At the end of the run a rank warns "destroy_process_group() was not called before program exit, which can leak
resources", or in torch 2.3 to 2.6 "process group has NOT been destroyed before we destruct ProcessGroupNCCL".

## Why

The script ends without `dist.destroy_process_group()`, or an exception skipped it. After an exception the warning is
only a consequence: it is in the log of nearly every NCCL job that failed, whatever the reason was.

A run that has otherwise finished is not harmed. In rare cases a rank that leaves early makes another one wait.

## How to tell

Look above it: if there is a traceback, that is the failure. If the run printed its last step and saved its model, there
is nothing to repair but the end of the script. Do not put the call into `finally`: after an exception on one rank it may
wait for the others without end, and the traceback never shows.

## See also

- [torchtitan#1342](https://github.com/pytorch/torchtitan/pull/1342): hangs in `finally`
- [Shutdown](https://docs.pytorch.org/docs/stable/distributed.html#shutdown): where to call destroy_process_group, and why
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Call, Script

check = Check(
    severity=Severity.NOTE,
    symptoms=[
        r"destroy_process_group\(\) was not called before program exit",
        r"process group has NOT been destroyed before (?:we destruct|it is being destructed)",
        r"NCCL communicator hasn't been destroyed",
    ],
    message="the process group was not destroyed before the program ended; harmless where the run had finished, and a consequence "
    "where it had failed",
    fixes=[
        Fix(
            "Destroy it at the end of a run that went well",
            "main()\ndist.destroy_process_group()",
            Kind.EDIT,
        ),
        Fix("Where an exception ended the run, look for that one first: `gpudoctor explain LOG`"),
    ],
    no_reproduction="it is a warning: the run goes on",
)


MESHES = ("torch.distributed.device_mesh.init_device_mesh", "torch.distributed.init_device_mesh")
"""What makes the process group where there is none (torch.distributed.device_mesh)."""


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A program that makes a process group and nowhere destroys it."""
    made = script.process_group or next(script.named(*MESHES), None)
    if made is None:
        return
    if not made.reached and not any(_together(call, made) and _trains(script, call) for call in script.calls):
        return  # its function is called from elsewhere, and so may be what destroys the group
    if any("destroy" in call.method or "cleanup" in call.name.lower() for call in script.calls):
        return
    yield check.found(
        "the process group that is made here is destroyed nowhere: NCCL warns of it at the end, and a rank that is done "
        "may end while others still wait for it",
        location=made.place,
    )


def _together(call: Call, made: Call) -> bool:
    """Return whether two calls stand in one function, or in methods of one class."""
    owner = made.scope.partition(".")[0] if "." in made.scope else ""
    return call.scope == made.scope or bool(owner and call.scope.startswith(f"{owner}."))


def _trains(script: Script, call: Call) -> bool:
    """Return whether a call belongs to a training, so that its function is the program and no helper of it."""
    return (
        call.within("epoch") is not None
        or script.thing(call.result, "ddp", "optimizer", "loader") is not None
    )
