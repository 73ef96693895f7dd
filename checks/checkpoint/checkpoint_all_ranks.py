"""Every rank writes the checkpoint, all into one file.

## What happens

Mostly nothing: the last one wins. At times a rank writes while another one opens the file again, and the file is cut off
or mixed: "PytorchStreamReader failed reading zip archive", `EOFError`, `checkpoint-corrupt` when it is loaded. With many
ranks on one file system saving takes many times as long.

## Why

The script runs once for each rank. `torch.save` opens the path and empties it, even while another rank writes there.

## How to tell

Print the rank beside the call: each of them does. A rank that loads the file at once may read what another one has
just emptied.

Or have the script check it: count who writes: `assert wrote == 1, f"{wrote} ranks wrote the same checkpoint"`.
`gpudoctor explain` recognises that message in a log.

## See also

- [DDP tutorial](https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html#save-and-load-checkpoints): saving in one process
- [torch.distributed.checkpoint](https://docs.pytorch.org/docs/stable/distributed.checkpoint.html): where every rank has a part of its own
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Call, Script, of_several, one_alone, same_for_all

check = Check(
    severity=Severity.WARNING,
    symptoms=[r"(?P<ranks>\d+) ranks wrote the same checkpoint"],
    message="<ranks> ranks wrote the same checkpoint: they overwrite each other's file while it is written",
    fixes=[
        Fix(
            "Save on rank 0; let the others wait where they read the file next",
            'if dist.get_rank() == 0:\n    torch.save(model.module.state_dict(), "model.pt")\ndist.barrier()',
            Kind.EDIT,
            proof="if dist.get_rank() == 0:",
        ),
        Fix(
            "Where each rank has something of its own, give it a file of its own",
            'torch.save(state, f"state-{dist.get_rank()}.pt")',
            Kind.EDIT,
        ),
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A torch.save that no test keeps to one rank, to a path that is the same for all."""
    said: set[tuple[str, str]] = set()
    for call in script.named("torch.save"):
        path = call.arguments.get("f")
        if path is None or one_alone(call) or not of_several(script, call):
            continue
        if same_for_all(script, path.value, path.text) and not _again(call, said):
            yield check.found(
                f"every rank saves to {path.text} at once: a file that two ranks write together may be cut off or mixed",
                location=call.place,
            )
    for call in script.methods("save_pretrained"):
        path = next(iter(call.arguments.values()), None)
        if path is None or one_alone(call) or not of_several(script, call):
            continue
        if (
            same_for_all(script, path.value, path.text)
            and not call.given("is_main_process")
            and not _left_to_accelerate(call)
            and not _again(call, said)
        ):
            saved = next((word for word in ("tokenizer", "processor") if word in call.text.lower()), "model")
            yield check.found(
                f"every rank saves the {saved} into {path.text} at once: files that two ranks write together may be cut off or "
                "mixed",
                location=call.place,
            )


def _left_to_accelerate(call: Call) -> bool:
    """Return whether accelerate's own save writes the model, which it does on the main process alone."""
    given = call.arguments.get("save_function")
    return given is not None and "accelerator.save" in given.text


def _again(call: Call, said: set[tuple[str, str]]) -> bool:
    """Return whether the method around a call was told of already: one test at its beginning mends all of it."""
    around = (call.place.path, call.scope)
    before = around in said
    said.add(around)
    return before and "." in call.scope
