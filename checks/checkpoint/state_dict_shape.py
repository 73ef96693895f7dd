"""The checkpoint's tensors have other sizes than the model's.

## What happens

`load_state_dict` reports "size mismatch for fc.weight: copying a param with shape torch.Size([1000, 512]) from
checkpoint, the shape in current model is torch.Size([10, 512])". `strict=False` does not silence it. An optimizer says
"loaded state dict contains a parameter group that doesn't match the size of optimizer's group".

## Why

- Only the head or the embedding differs: another number of classes, another vocabulary, tokens added to the tokenizer.
- Many layers differ: another variant of the model (base and large), another width or image size.
- The optimizer was saved with other parameters: layers were frozen, added or grouped otherwise since.
- One side is `[0]`: DeepSpeed's ZeRO-3 has the parameter in parts, and a plain `load_state_dict` does not gather it.
- The file is one part of a model that was split over several GPUs (tensor parallelism).

## How to tell

The first number is the file's, the second the model's. Where only the first dimension of one or two keys differs, the
number of classes or tokens is another; where nearly all keys differ, build the model with the checkpoint's own options.

## See also

- [load_state_dict](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.load_state_dict): what `strict` is about
- [from_pretrained](https://huggingface.co/docs/transformers/main_classes/model): `ignore_mismatched_sizes`
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom
from gpudoctor.facts import Comparison, Outcome
from gpudoctor.wordings import EMPTY_MATRIX, ZERO3

KEY = r"(?P<key>[\w.-]{1,300})"
FILE = r"(?:torch\.Size\()?[\[(]{1,2}(?P<file>[\d, ]{0,60})[\])]{1,2}"
MODEL = FILE.replace("file", "model")
# mmcv and mmengine only print it unless strict=True; of a new head it is meant so.
PRINTED = r"(?<!RuntimeError: )The model and loaded state dict do not match exactly"


check = Check(
    severity=Severity.ERROR,
    symptoms=[
        Symptom(
            rf"size mismatch for {KEY}: copying a param (?:with shape|of) (?!torch\.Size\(\[0\]\)){FILE} from checkpoint, (?:where )?the shape (?:in current model )?is {MODEL}",
            unless=PRINTED,
        ),
        # an empty one in the file is zero3-shapes where DeepSpeed wrote it
        Symptom(
            rf"size mismatch for {KEY}: copying a param with shape (?=torch\.Size\(\[0\]\)){FILE} from checkpoint, the shape in current model is {MODEL}",
            unless=rf"{PRINTED}|{ZERO3}|{EMPTY_MATRIX}",
        ),
        Symptom(  # cut off
            rf"size mismatch for {KEY}: copying a param(?!.{{0,200}} current model)", unless=PRINTED
        ),
        # until 0.3; later ones have it for any exception, and there the sizes are the same
        rf"While copying the parameter named ['\"]?{KEY}['\"]?, whose dimensions in the model are {MODEL} and whose dimensions in the checkpoint are {FILE}",
        # transformers
        r"You may consider adding `?ignore_mismatched_sizes=True`? in the model",
        r"You set `?ignore_mismatched_sizes`? to `?False`?, thus raising an error",
        Symptom(
            rf"(?<![\w.])(?P<key>[\w.]{{1,300}})\s{{0,80}}\|\s{{0,80}}MISMATCH\s{{0,80}}\|.{{0,200}}ckpt: {FILE} vs model: ?{MODEL}",
            near=r"thus raising an error",
        ),
        # accelerate, diffusers
        rf"Trying to set a tensor of shape {FILE} in \"{KEY}\" \(which has shape {MODEL}\), this looks? incorrect",
        rf"Cannot load .{{1,300}} because {KEY} expected shape .{{1,200}}, but got torch\.Size\(\[(?P<file>[\d, ]*)\]\)",
        # torch.distributed.checkpoint
        rf"Size mismatch between saved {FILE} and current: {MODEL} for {KEY}",
        Symptom(r"these keys have mismatched shape:", near=r"RuntimeError: The model and loaded state dict"),
        r"loaded state dict (?:contains a parameter group that doesn't match|has a different number of parameter groups)",
        r"checkpoint being loaded used a DP world size of (?P<saved>\d+) but the current world size is (?P<world>\d+)",
        rf"Global shape mismatch for loaded \({FILE}\) and expected \({MODEL}\) tensor for key {KEY}",  # Megatron-LM
        rf"^(?:[^\w\n]*)copying a param (?:with shape|of) (?!torch\.Size\(\[0\]\)){FILE} from checkpoint, (?:where )?the shape (?:in current model )?is {MODEL}",  # cut off in front
    ],
    message="tensors of the file have other sizes in the model, and cannot be copied into it",
    fixes=[
        Fix(
            "Build the model with the checkpoint's options: the number of classes, the vocabulary, the variant",
            "model = Net(num_classes=1000)\nmodel.load_state_dict(state)\nmodel.fc = nn.Linear(model.fc.in_features, 10)",
            Kind.EDIT,
            proof="model.fc = nn.Linear(model.fc.in_features, 10)",
        ),
        Fix(
            "Leave out what has another size, and see that only the head is missing",
            "own = model.state_dict()\n"
            "state = {k: v for k, v in state.items() if k in own and v.shape == own[k].shape}\n"
            "print(model.load_state_dict(state, strict=False).missing_keys)",
            Kind.EDIT,
        ),
        Fix(
            "transformers: a new head on purpose; where tokens were added, resize first",
            "model = AutoModel.from_pretrained(path, num_labels=10, ignore_mismatched_sizes=True)\n"
            "model.resize_token_embeddings(len(tokenizer))",
            Kind.EDIT,
        ),
        Fix(
            "An optimizer that does not fit: load the model alone and start the optimizer from scratch",
            kind=Kind.EDIT,
        ),
    ],
)
EMPTY = [
    Fix(
        "Load before DeepSpeed divides the model, or gather what is loaded into",
        "with deepspeed.zero.GatheredParameters(list(model.parameters()), modifier_rank=0):\n"
        "    if dist.get_rank() == 0:\n        model.load_state_dict(state)",
        Kind.EDIT,
    ),
    Fix(
        "Load into a model that was built outside of DeepSpeed, with no HfDeepSpeedConfig alive",
        "model = Net()\nmodel.load_state_dict(state)",
        Kind.EDIT,
    ),
    Fix(
        "Let DeepSpeed load what DeepSpeed saved",
        "engine.load_checkpoint(folder)",
        Kind.EDIT,
    ),
]
OPTIMIZER = [
    Fix(
        "Give the optimizer the same parameters, in the same groups and order, as when it was saved",
        kind=Kind.EDIT,
    ),
    Fix("Load the model alone and start the optimizer from scratch", kind=Kind.EDIT),
]
WORLD = [
    Fix(
        "Go on with as many ranks as the checkpoint was saved with",
        "torchrun --nproc-per-node=<saved> train.py",
    ),
    Fix(
        "Load the weights alone",
        "engine.load_checkpoint(folder, load_optimizer_states=False, load_module_only=True)",
        Kind.EDIT,
    ),
]


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Compare both sizes: [0] is what ZeRO-3 leaves behind, and equal ones are another error."""
    seen = sighting.groups
    if "saved" in seen:
        fixes = [Fix(f.summary, f.command.replace("<saved>", seen["saved"]), f.kind) for f in WORLD]
        said = f"the checkpoint's optimizer state is in {seen['saved']} parts, and this run has {seen['world']} ranks"
        yield check.found(said, fixes=fixes)
        return
    if "loaded state dict" in sighting.line and "parameter group" in sighting.line:
        yield check.found(
            "the optimizer was saved with other parameters than it has now",
            fixes=OPTIMIZER,
        )
        return
    key, file, model = seen.get("key"), seen.get("file"), seen.get("model")
    if file is not None and model is not None:
        if file.replace(" ", "") == model.replace(" ", ""):
            return
        said = f"{key or 'a parameter'} is [{file}] in the file and [{model}] in the model"
        if model.strip() == "0":
            said += ": DeepSpeed's ZeRO-3 keeps it in parts, and nothing can be copied into it"
            yield check.found(said, fixes=EMPTY)
            return
        yield check.found(f"{said}: another number of classes or tokens, or another variant")
        return
    said = f"{key} has" if key else "tensors of the file have"
    yield check.found(f"{said} another size in the model, and cannot be copied into it")


@check.checkpoint
def checkpoint(comparison: Comparison) -> Iterator[Finding]:
    """Tensors that have another shape in what the file was compared with."""
    if comparison.outcome is Outcome.SHAPE:
        copy = Fix("Write a copy with the target's names", comparison.fix_line)
        load = Fix("Load what has the target's shape", comparison.load_line, Kind.EDIT)
        fixes = [fix for fix in (copy, load) if fix.command]
        yield check.found(comparison.said, evidence=comparison.evidence, fixes=fixes or None)
