"""DeepSpeed's batch sizes do not multiply, or are not given.

## What happens

"Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size
32 != 4 * 1 * 2" while DeepSpeed starts. transformers: "Please correct the following DeepSpeed config values that mismatch
TrainingArguments values". accelerate: "requires you to pass at least one of training or evaluation dataloaders".

## Why

Three settings of DeepSpeed's configuration and the number of ranks must agree:

`train_batch_size = train_micro_batch_size_per_gpu * gradient_accumulation_steps * ranks`

- The configuration was written for another number of GPUs.
- A size is in the configuration and on the command line too, and they differ.
- DeepSpeed counts other ranks than you: a script that was started with plain `python` has 1, and of a model that is
  split over GPUs only the data-parallel ranks count.
- The loader that accelerate gets has no `batch_size`, as with a batch sampler of your own, or only the model is prepared.

## How to tell

The last number of the line is the number of ranks that DeepSpeed sees. If it is the one that you started, change the
sizes; if not, look at the launch command.

## See also

- [DeepSpeed configuration](https://www.deepspeed.ai/docs/config-json/#batch-size-related-parameters): which product must hold
- [transformers and DeepSpeed](https://huggingface.co/docs/transformers/deepspeed): "auto" values
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom

HEAD = r"Check batch related parameters|train_batch_size is not equal to micro_batch_per_gpu"
SUM = r"world_size\s?(?P<batch>\d+) ?!= ?(?P<micro>\d+) \* (?P<steps>\d+) \* (?P<world>\d+)"
AUTO = Fix(
    "transformers and accelerate: leave the sizes to one place",
    '"train_batch_size": "auto",\n"train_micro_batch_size_per_gpu": "auto",\n"gradient_accumulation_steps": "auto"',
    Kind.EDIT,
)
OWN = Fix(
    "Your own script: name the size per GPU and the steps, and let DeepSpeed multiply",
    '"train_micro_batch_size_per_gpu": 4,\n"gradient_accumulation_steps": 8',
    Kind.EDIT,
)
STARTED = Fix(
    "DeepSpeed sees one rank: where you meant several, start the script with a launcher",
    "deepspeed --num_gpus=N train.py",
)
PREPARE = Fix(
    "accelerate without a loader in prepare(): name the size in the plugin",
    "from accelerate.state import AcceleratorState\n\n"
    'AcceleratorState().deepspeed_plugin.deepspeed_config["train_micro_batch_size_per_gpu"] = 4',
    Kind.EDIT,
)

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        Symptom(HEAD, near=SUM),
        Symptom(HEAD, unless=SUM),
        r"(?P<zero>Train batch size|Micro batch size per gpu|Gradient accumulation steps): \S{1,20} has to be greater than 0",
        r"Either train_batch_size or train_micro_batch_size_per_gpu needs to be provided",
        Symptom(
            r"correct the following DeepSpeed config values that mismatch TrainingArguments values",
            near=r"- ds (?P<ds>(?:train_|gradient_acc)\w+=\S+) vs hf (?P<hf>\w+(?: \(calculated\))?=\S+)",
        ),
        r"accelerate\.prepare\(\).{0,3} requires you to pass at least one of training or evaluation (?P<loaders>dataloaders)",
        r"Train batch size must be (?P<divisible>divisible by micro-batch data parallelism)",
    ],
    fixes=[AUTO, OWN],
    no_reproduction="needs DeepSpeed",
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Do the sum with what the line names."""
    seen = sighting.groups
    if "batch" in seen:
        product = int(seen["micro"]) * int(seen["steps"]) * int(seen["world"])
        ranks = "1 rank" if seen["world"] == "1" else f"{seen['world']} ranks"
        yield check.found(
            f"train_batch_size is {seen['batch']}, and {seen['micro']} samples x {seen['steps']} steps x {ranks} are {product}",
            fixes=[STARTED, AUTO, OWN] if seen["world"] == "1" else None,
        )
    elif "ds" in seen:
        said = f"DeepSpeed's configuration says {seen['ds']}, and the Trainer's arguments say {seen['hf']}"
        yield check.found(said, fixes=[AUTO])
    elif "loaders" in seen:
        said = "accelerate gives DeepSpeed the batch size of a loader, and was given no loader that has one"
        yield check.found(said, fixes=[PREPARE, OWN])
    elif "divisible" in seen:
        yield check.found(
            "train_batch_size is no multiple of the micro batch size times the ranks that share the data"
        )
    elif "zero" in seen:
        yield check.found(f"{seen['zero'].lower()} is not above 0 in DeepSpeed's configuration")
    else:
        yield check.found("DeepSpeed's batch sizes are missing, or do not multiply")
