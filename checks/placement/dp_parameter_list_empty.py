"""DataParallel's replicas find their ParameterList or ParameterDict empty.

## What happens

torch 1.7 to 1.11 warns "nn.ParameterList is being used with DataParallel but this is not supported. This list will
appear empty for the models replicated on each GPU except the original one." The forward then fails in a replica with
"IndexError: index 0 is out of range", "expected a non-empty list of Tensors", or a KeyError. Or it does not fail: a
loop over an empty list does nothing, and the result is wrong.

## Why

DataParallel's replicas hold weights as plain tensors. Until torch 1.11 a ParameterList or ParameterDict kept nothing
but registered parameters, so its copy is empty. Parameters that are direct attributes of a module are there.

## How to tell

`print(len(self.weights))` in `forward`: 0 on a replica. The last frame of the original traceback is in
`torch/nn/modules/container.py`. A warning without an error is true as well: those parameters are not used there.

`gpudoctor lint train.py` finds lists of parameters in models that DataParallel copies.

## See also

- [pytorch#36035](https://github.com/pytorch/pytorch/issues/36035): lists and dictionaries of parameters that replicas find empty
- [pytorch#44405](https://github.com/pytorch/pytorch/pull/44405): adds the warning
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import Script, wrapped_classes
from gpudoctor.wordings import REPLICA

check = Check(
    severity=Severity.ERROR,
    otherwise="in a script a note: it needs a torch older than 1.12",
    symptoms=[
        # often nothing is raised, and what is left is what the user says of it
        r"\b(?:nn\.)?Parameter(?:List|Dict)\b (?:and|with|under|in|on|is empty) .{0,60}\bDataParallel\b",
        r"nn\.Parameter(?P<kind>List|Dict) is being used with DataParallel but this is not supported",
        Symptom(r"'Parameter(?P<kind>List|Dict)' object has no attribute '", near=REPLICA),
        Symptom(
            r"IndexError: index -?\d+ is out of range\s*$", near=rf"{REPLICA}[\s\S]{{0,8000}}container\.py"
        ),
        Symptom(r"expect(?:ed|s) a non-empty (?:list of Tensors|TensorList)", near=REPLICA),
    ],
    message="a list of parameters[, Parameter<kind>,] is empty in DataParallel's replicas[, seen in replica <replica>]: what it "
    "holds is not used there",
    fixes=[
        Fix(
            "One process per GPU, here 2, with DistributedDataParallel instead of DataParallel",
            "torchrun --standalone --nproc-per-node=2 train.py",
        ),
        Fix(
            "Make each parameter an attribute of the module",
            'for i, p in enumerate(parameters):\n    self.register_parameter(f"p{i}", p)\n\n'
            'weights = [getattr(self, f"p{i}") for i in range(n)]  # in forward',
            Kind.EDIT,
        ),
        Fix(
            "torch 1.12 and later keeps the tensors in the list",
            "python -m pip install --upgrade torch torchvision",
        ),
    ],
    no_reproduction="needs 2 GPUs and a torch before 1.12",
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A ParameterList or ParameterDict that the forward of a replicated module reads."""
    for item in wrapped_classes(script, "dp"):
        for attribute in item.attributes:
            kind = attribute.type.rpartition(".")[2]
            if kind in ("ParameterList", "ParameterDict") and attribute.name in item.used_in_forward:
                yield check.found(
                    f"self.{attribute.name} is a {kind}, and DataParallel copies the module: before torch 1.12 it is empty on "
                    "the replicas",
                    severity=Severity.NOTE,
                    location=attribute.place,
                )
