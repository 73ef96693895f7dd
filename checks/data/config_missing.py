"""A configuration file is not where this process looks for it.

## What happens

Hydra: "Cannot find primary config 'train'. Check that it's in your config search path", "Could not find 'model/big'".
transformers: "does not appear to have a file named config.json", "Can't load the configuration of", "Unrecognized model in
…. Should have a `model_type` key". accelerate: "The passed configuration file `…` does not exist". DeepSpeed: "Expected a
string path to an existing deepspeed config". Or plainly "No such file or directory: 'configs/train.yaml'".

## Why

- The path is relative, and the scheduler, the container or torchrun's other node starts in another folder.
- The file is not in the repository or the package: it was meant to be made, has another name, or a package was installed
  without its data. The folder of a model has weights, and `config.json` was not copied with them.
- Hydra takes the *name* of a file, without `.yaml`, in its search path. The folder goes into `--config-path`; a relative one,
  like `config_path` of `@hydra.main`, counts from the script and not from where it was started.
- `accelerate config` was run by another user, or with another HF_HOME.

## How to tell

`srun --ntasks-per-node=1 sh -c 'hostname; pwd; ls -l FILE'` shows on which node, and from where, it is missing. Hydra prints
its search path below the error: the file must be in one of these folders.

## See also

- [Hydra: config search path](https://hydra.cc/docs/advanced/search_path/): the folders in which Hydra looks
- [transformers: AutoConfig](https://huggingface.co/docs/transformers/model_doc/auto#transformers.AutoConfig): what it takes for a name, and what for a folder
- [accelerate config](https://huggingface.co/docs/accelerate/package_reference/cli#accelerate-config): makes the file, and says where it is put
- [DeepSpeed#4156](https://github.com/deepspeedai/DeepSpeed/issues/4156): a relative path to its configuration
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom

# What a run wrote, and what tools keep for themselves, is no configuration of the training.
NOT_THIS = r"(?![^'\"\n]{0,300}(?:[Cc]heckpoint|ckpt|\.cache/(?!huggingface)|triton|wandb/|\.incomplete|\.lock|\.git/))"
SETTINGS = r"[^'\"\n]{1,300}\.(?:ya?ml|toml|ini|cfg)"
NAMED = r"[^'\"\n]{0,300}(?:[Cc]onfig|(?<![a-z])conf[/_.]|(?<![a-z])ds_|[Dd]eep[Ss]peed|accelerate|zero_?[123])[^'\"\n]{0,200}\.(?:json|py)"
GOES_ON = re.compile(
    r"\b[Uu]s(?:e|ing) (?:the )?(?:\w+ )?(?:default|built-?in)|[Ff]all(?:s|ing)? back|[Ss]kip|[Ii]gnor|[Cc]reating"
)

PLAIN = [
    Fix(
        "Look for it where the job starts; under Slurm on every node of it (without Slurm: the part in quotes)",
        "srun --ntasks-per-node=1 sh -c 'hostname; pwd; ls -l FILE'",
    ),
    Fix(
        "Use a path that does not depend on where the job starts",
        'path = Path(__file__).resolve().parent / "configs" / "train.yaml"',
        Kind.EDIT,
        proof="Path(__file__)",
    ),
    Fix("Or start the job where the path begins", "sbatch --chdir=FOLDER job.sh"),
]
HYDRA = [
    Fix(
        "Hydra: name the folder by its whole path, and the file in it without .yaml",
        'torchrun --nproc-per-node=N train.py --config-path "$PWD/configs" --config-name train',
    ),
    Fix(
        "Hydra, in the script: this folder counts from the script",
        '@hydra.main(version_base=None, config_path="configs", config_name="train")\ndef main(cfg): ...',
        Kind.EDIT,
    ),
    # --info searchpath ends in the same error where the primary configuration is missing
    Fix(
        "See which files there are: Hydra's error lists the folders that it looked in",
        "find . -name '*.y*ml'",
    ),
]
MODEL = [
    Fix("transformers: see what is in the folder", "ls -l FOLDER"),
    Fix("Save the configuration with the weights", "model.config.save_pretrained(folder)", Kind.EDIT),
    Fix(
        "Or take it from the model that this one was made of",
        'config = AutoConfig.from_pretrained("ORGANISATION/MODEL")\nconfig.save_pretrained(folder)',
        Kind.EDIT,
    ),
]
ACCELERATE = [
    Fix("accelerate: make a configuration, and name it", "accelerate config --config_file accelerate.yaml"),
    Fix(
        "In a job nobody answers its questions: take what it finds, then say how many processes when you start",
        "accelerate config default --config_file accelerate.yaml",
    ),
    Fix(
        "Start with it, by its whole path",
        'accelerate launch --config_file "$PWD/accelerate.yaml" train.py',
    ),
    Fix(
        "Or go without: say all on the command line",
        "accelerate launch --multi_gpu --num_processes=N train.py",
    ),
]

check = Check(
    severity=Severity.ERROR,
    otherwise="a note where the program says that it goes on without",
    symptoms=[
        r"Cannot find primary config(?: file:)? '?(?P<hydra>[^'\s]{1,300})",
        r"Primary config (?:directory not found|module (?:'(?P<hydra>[^'\n]{1,300})' not found|is empty))",
        Symptom(
            r"Could not (?:find|load) '(?P<hydra>[^'\n]{1,300})'",
            near=r"Config search path:|hydra[./\\]_internal",
        ),
        r"(?P<folder>\S{1,300}) does not appear to have a file named (?P<file>[\w./-]{0,100}config\.json)",
        (
            r"Can't load (?:the configuration of|config for|image processor for|feature extractor for) "
            r"'(?P<folder>[^'\n]{1,300})'(?:.{1,600} containing an? (?P<file>[\w.]{1,60}\.json) file)?"
        ),
        r"Unrecognized model in (?P<folder>\S{1,300}?)\. Should have a `?model_type`? key in its config\.json",
        r"(?:The passed )?configuration file `(?P<accelerate>[^`\n]{1,300})` does not exist",
        r"existing deepspeed config, or a dictionary.{0,60}Received: (?P<file>[^\s{]{1,300})",
        r"You passed in a path to a DeepSpeed config but the path does not exist: (?P<file>\S{1,300})",
        rf"(?:No such|\bno) file or directory: ['\"]{NOT_THIS}(?P<file>{SETTINGS}|{NAMED})(?:['\"]|$)",
        # mmengine, mmcv; ultralytics; words of one's own
        r"FileNotFoundError: file \"(?P<file>[^\"\n]{1,300}\.(?:py|ya?ml|json))\" does not exist",
        r"FileNotFoundError: '(?P<file>[^'\n]{1,300}\.ya?ml)' does not exist",
        (
            r"[Cc]onfig(?:uration)?(?: file)?:? ['\"]?(?P<file>[^\s'\"`]{1,300}\.(?:ya?ml|json|toml|py|ini|cfg))['\"]? "
            r"(?:does not exist|doesn't exist|(?:was |could )?not (?:be )?found)"
        ),
        r"[Cc]onfig(?:uration)? file (?:does not exist|not found):? ['\"]?(?P<file>[^\s'\"]{1,300})",
        r"(?:AssertionError|Error|Exception): [Ff]ile [Nn]ot [Ff]ound:? ['\"]?(?P<file>[^\s'\"]{1,300}\.(?:ya?ml|json|toml|cfg|ini))",
        rf"\[WinError [23]\] .{{0,120}}: ['\"]{NOT_THIS}(?P<file>{SETTINGS}|{NAMED})['\"]",
    ],
    fixes=[*PLAIN, *HYDRA, *MODEL, *ACCELERATE],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Name the file, and what reads it; a program that says what it does without it has not failed."""
    seen = sighting.groups
    # What "Please ... or use the default one" offers, the reader has to do.
    went_on = GOES_ON.search(sighting.line) is not None and "Please" not in sighting.line
    severity = Severity.NOTE if went_on else None
    missing = "is not where this process looks for it"
    if "hydra" in seen or "Primary config" in sighting.line:
        name = f" {seen['hydra']}" if "hydra" in seen else ""
        yield check.found(
            f"the configuration{name} is not in the search path", severity=severity, fixes=HYDRA
        )
    elif "folder" in seen:
        said = f"{seen['folder']} has no {seen.get('file', 'config.json')} that says which model it holds"
        yield check.found(said, severity=severity, fixes=MODEL)
    elif "accelerate" in seen or "accelerate/default_config" in seen.get("file", ""):
        name = seen.get("accelerate") or seen["file"]
        yield check.found(f"accelerate's configuration {name} {missing}", severity=severity, fixes=ACCELERATE)
    else:
        yield check.found(f"the configuration {seen['file']} {missing}", severity=severity, fixes=PLAIN)
