"""A class that the checkpoint names has moved or changed.

## What happens

`torch.load(..., weights_only=False)` raises "No module named 'models'" or "Can't get attribute 'Net' on <module
'__main__' from 'eval.py'>". Or it loads, and the model fails at once: "'Upsample' object has no attribute
'recompute_scale_factor'".

## Why

`torch.save(model)` writes no code, only the name of the class and where it was: the module `models`, or `__main__` for
a class of the script that was started. Loading imports it from there again:

- The script is started in another folder, so `models` is not on the path; or another package of that name comes first.
- The class was moved or renamed, or the file comes from another repository.
- It was defined in the training script, and another script loads.
- The class is the same and was changed since: the object has the attributes that the class had then. torch's own modules do the
  same where the version of torch is another.

## How to tell

`gpudoctor checkpoint inspect FILE` lists the names without importing any of them.

## See also

- [Saving and loading models](https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html): why a state_dict
- [torch issue 18325](https://github.com/pytorch/pytorch/issues/18325): No module named 'models'
- [yolov5#6948](https://github.com/ultralytics/yolov5/issues/6948): recompute_scale_factor, and how to give it to the objects
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom
from gpudoctor.wordings import A_FRAME

# Between the frame that reads the pickle and the error stand a few lines of source.
READING = r"(?:torch[/\\]serialization\.py\"?, line \d+, in (?:find_class|_?load|_legacy_load)\b|unpickler\.load\(\)|find_class\(mod_name)"
SPAWN = r"multiprocessing[/\\](?:spawn|queues|pool|process|forkserver|connection)\.py|spawn_main"
CHANGED = (
    r"recompute_scale_factor|padding_mode|approximate|_non_persistent_buffers_set|_is_full_backward_hook|"
    r"_backward_pre_hooks|_forward_pre_hooks_with_kwargs|_load_state_dict_pre_hooks"
)
LATER = Fix(
    "A file that you wrote yourself (`gpudoctor checkpoint inspect FILE` lists what opening it runs), where it still "
    "loads: save the weights alone, which need no class",
    'model = torch.load("FILE", map_location="cpu", weights_only=False)\ntorch.save(model.state_dict(), "weights.pt")',
    Kind.EDIT,
)
UPSAMPLE = Fix(
    "Give the objects the attribute",
    "for module in model.modules():\n    if isinstance(module, torch.nn.Upsample):\n        module.recompute_scale_factor = None",
    Kind.EDIT,
    source="https://github.com/ultralytics/yolov5/issues/6948",
)
ALIAS = Fix(
    "Or tell Python under which name it is to be found now",
    'import sys\nimport project.models\n\nsys.modules["models"] = project.models',
    Kind.EDIT,
    proof='sys.modules["models"] = project.models',
)
UNDER_MAIN = Fix(
    "Import the class into the script that loads, before it does: that script is __main__ now (what train.py does when it is "
    'imported must stand under `if __name__ == "__main__":`)',
    "from train import <name>",
    Kind.EDIT,
)
ON_THE_PATH = Fix(
    "Start where the class was, or put that folder on the path",
    "PYTHONPATH=FOLDER torchrun --nproc-per-node=N train.py",
)

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        Symptom(
            r"Can't get attribute '(?P<name>[\w.]{1,120})' on <module '(?P<module>[\w.]{1,120})'",
            near=r"torch[/\\]serialization\.py|torch\.load\(|pickle\.load\(",
            unless=SPAWN,
        ),
        # the line alone; a process that was spawned has its main module from no file, or under another name
        Symptom(
            r"AttributeError: Can't get attribute '(?P<name>[\w.]{1,120})' on <module '(?P<module>(?!__mp_main__)[\w.]{1,120})'(?: from|>)",
            unless=rf"{A_FRAME}|{SPAWN}",
        ),
        Symptom(
            r"(?:ModuleNotFound|Import)Error: No module named '(?P<missing>[\w.]{1,120})'",
            near=rf"{READING}(?:[^\n]*\n){{1,6}}?[^\n]{{0,80}}(?:ModuleNotFound|Import)Error: No module named",
            unless=SPAWN,
        ),
        rf"AttributeError: '(?P<type>\w{{1,60}})' object has no attribute '(?P<attribute>{CHANGED})'",
    ],
    fixes=[
        ON_THE_PATH,
        ALIAS,
        LATER,
    ],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say which class or module, and what brings it back."""
    seen = sighting.groups
    if "type" in seen:
        said = f"the file holds an object of {seen['type']} that was made before the class had {seen['attribute']}"
        version = Fix(
            "Load it with the version of torch that it was saved with, once, and save the weights alone"
        )
        attribute = (
            [UPSAMPLE] if (seen["type"], seen["attribute"]) == ("Upsample", "recompute_scale_factor") else []
        )
        yield check.found(said, fixes=[*attribute, version, LATER])
    elif seen.get("module") in ("__main__", "__mp_main__"):
        said = f"the file asks for {seen['name']} of the script that was started, and this script has none"
        name = seen["name"].partition(".")[0]
        main = Fix(UNDER_MAIN.summary, UNDER_MAIN.command.replace("<name>", name), UNDER_MAIN.kind)
        yield check.found(said, fixes=[main, LATER])
    elif "name" in seen:
        yield check.found(
            f"the file asks for {seen['name']} of the module {seen['module']}, which has no such class or function now",
            fixes=[ON_THE_PATH, ALIAS, LATER],
        )
    else:
        yield check.found(
            f"the file holds objects of the module {seen['missing']}, which cannot be imported here"
        )
