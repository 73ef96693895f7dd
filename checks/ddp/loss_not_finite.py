"""The loss became NaN or infinite.

## What happens

The log shows `loss: nan`, or the script gives up: "Loss is nan, stopping training", "Loss became infinite or NaN",
"Current loss scale already at minimum", "The total norm … for gradients from `parameters` is non-finite". From that step
on every weight may be NaN, on all ranks, because gradients are summed over them.

## Why

- float16 overflows, mostly in a model that was trained in bfloat16 (T5, Llama).
- The learning rate is too high: it was scaled up with the number of GPUs and does not rise slowly at the start.
- Gradients are clipped before `scaler.unscale_`, and thus not really.
- A bad sample: an empty label or mask, `log(0)`, a division by 0, `sqrt` at 0.
- With several GPUs alone: gradients that are not averaged, or a GPU or link that returns wrong data.

## How to tell

Find the first step that is not finite, and whether one rank has it or all. `torch.autograd.set_detect_anomaly(True)`
names the operation. Run the same batches on one GPU, then with `NCCL_P2P_DISABLE=1`: if either is fine, suspect the
machine. A few skipped steps at the start are the loss scaler finding its scale, and normal.

## See also

- [Mixed precision examples](https://docs.pytorch.org/docs/stable/notes/amp_examples.html): clipping, unscaling
- [detect_anomaly](https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.detect_anomaly): stops at the first NaN of a backward pass
"""

from gpudoctor import Check, Fix, Kind, Severity, Symptom
from gpudoctor.wordings import SOMEBODY

# A bar's own loss is nan where Lightning's step returns none; the loss itself then stands further right in the bar.
BAR = r"(?!.{0,200}\b(?:reduced_train_loss|train_loss_step)=\d)"
VALUE = rf"(?P<value>nan|NaN|NAN|inf)(?![\w-]|\.(?!0\b)\w){BAR}"
# Not a loss of training, and not the start value of a best one.
FIRST = "val valid validation eval evaluation test dev best lowest min minimum previous last initial".split()
OTHER = "".join(
    rf"(?<!{word}[ =:])(?<!{word}[:\])] )(?<!{word} [-|] )"
    for first in FIRST
    for word in (first, first.capitalize())
)
NAMED = r"(?:(?!\w{0,20}(?:[Vv]al|[Tt]est|[Bb]est|[Mm]in_|[Dd]ev_|[Ii]nit|[Pp]rev|[Ll]ast|[Ll]ow))[A-Za-z]\w{0,20}_|[Tt]rain(?:ing)?[/ -])"
# A scale of 1 or less: nothing is left to reduce.
SCALE = r"(?P<scale>[01](?:\.\d+)?|\d(?:\.\d+)?e-\d+)(?![\d.e])"
# DeepSpeed skips a step whose gradients are not finite, and counts it. From a hundred steps on, as many digits and a first
# one that is at most one less: a third of all at least, where a few at the start are normal.
MOSTLY_SKIPPED = "(?:{})".format(
    "|".join(
        rf"{d}\d{{{more}}}, skipped=[{max(d - 1, 1)}-{d}]\d{{{more}}}"
        for more in range(2, 6)
        for d in range(1, 10)
    )
)

# What people write between the two, "is always", "suddenly turns to".
TURNS, NOT_FINITE = r"(?: \w+){0,4}", r"(?: nans?| NaNs?| NANs?| infinity| infinite| to inf| is inf)\b"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        # somebody's words
        Symptom(
            rf"loss(?:es)?{TURNS}(?= (?P<value>\w+)){NOT_FINITE}",
            near=rf"(?m:{SOMEBODY}loss(?:es)?{TURNS}{NOT_FINITE})",
            asked=True,
        ),
        Symptom(
            r"(?P<value>[Nn]a[Nn]|NAN) (?:as|for) (?:the )?(?:training )?loss\b",
            near=rf"(?m:{SOMEBODY}(?:[Nn]a[Nn]|NAN) (?:as|for) (?:the )?(?:training )?loss\b)",
            asked=True,
        ),
        # Chinese: "became", "appears", "is all the time"
        Symptom(
            r"[Ll]oss.{0,24}?(?:\u53d8\u4e3a|\u53d8\u6210|\u51fa\u73b0|\u4e00\u76f4\u662f|\u90fd\u662f) ?(?P<value>NAN|NaN|Nan|nan)",
            asked=True,
        ),
        # a script or library gives up
        r"\b[Ll]oss is (?P<value>\S.{0,60}?), stopping training",
        r"(?:Error|Exception): .{0,60}\b(?:[Oo]utputs?|[Pp]redictions?|[Gg]radients?|[Ww]eights?) (?:is|are|was|were|became|contains?) (?P<value>nan|NaN|NAN)s?\b",
        r"[Ll]oss bec(?:a|o)me infinite or NaN(?: at iteration=(?P<step>\d+))?",
        r"non-finite loss, ending training",
        # an exception of the script's own, in whatever words
        r"(?:Error|Exception|Exit): .{0,60}\b[Ll]oss (?:was|became|has become|went|turned|diverged|exploded|is now|got|=|:)(?: (?:to|into))? ?(?P<value>-?(?:nan|NaN|NAN|inf|Inf|not a number|infinite(?! or)))\b",
        r"(?:Error|Exception|WARNING|Warning)\b.{0,60}\b[Ll]oss is (?P<value>-?(?:nan|NaN|NAN|inf))\b(?!, stopping)",
        r"The loss returned in \W?training_step\W? is (?P<value>nan or inf|tensor\(.{1,59}[^\s.]|-?(?:nan|inf))",
        r"Detected nan and/or inf values in ",
        r"(?:Error|Exception): .{0,60}\b(?:[Ll]oss|[Gg]rad\w{0,10}|logits|output)\b.{0,40}\b(?:not finite|not a finite number|non-?finite)\b(?!, so it cannot be clipped)",
        r"(?:Error|Exception): .{0,60}\b(?:[Nn]on-?finite|NaN|nan|[Ii]nfinite) (?:\w{1,12} )?(?:loss|gradients?)\b",
        # assert torch.isfinite(loss), without a message of its own
        Symptom(
            r"AssertionError(?::? *$|: tensor\()",
            near=r"assert (?:not )?.{0,60}\bis(?:finite|nan|inf)\(.{0,80}\s{1,9}(?:[\^~]+\s{1,9})?AssertionError",
        ),
        r"FloatingPointError: gradients are Nan/Inf",
        # torch.utils.tensorboard, tensorboardX: a number that was to be drawn
        r"\b(?P<value>NaN or Inf) found in input tensor",
        r"\b(?P<value>NaN|nan) loss (?:was )?(?:encountered|detected)",
        r"Current loss scale already at minimum - cannot decrease scale anymore",
        r"Minimum loss scale reached \((?P<least>[\d.e-]+?)\)",
        r"found (?P<value>NaN|Inf) in local (?:forward loss|grad norm)",
        r"The total norm of order \S{1,20} for gradients from \W?parameters\W? is non-finite",
        r"Function '(?P<operation>\w+)' returned nan values in its \d+th output",
        r"probability tensor contains either \W?inf\W?, \W?nan\W? or element < 0",
        Symptom(
            r"Expected parameter (?P<parameter>\w+) \(.{1,200}but found invalid values",
            near=r"but found invalid values:[\s\S]{0,2000}?\b(?P<value>nan|inf)\b",
        ),
        Symptom(
            r"ZeroDivisionError: float division by zero",
            near=r"apex[/\\]amp|loss_scal|unscale|amp[/\\]scaler",
        ),
        # a loss scaler at its end
        (
            rf"(?:Gradient overflow|OVERFLOW!|scale overflow!|overflow detected).{{0,100}}"
            # fairseq goes down to 0.0001 before it gives up, and 1 is no end
            rf"(?:reducing|[Rr]educing loss scale|setting loss scale(?= to: (?:0\.000|\d(?:\.\d+)?e-0?[4-9]))) to:? {SCALE}"
        ),
        rf"\bstep=(?={MOSTLY_SKIPPED},)(?P<steps>\d+), skipped=(?P<skipped>\d+), lr=",  # DeepSpeed
        # values in progress lines; healthy ones hold no literal of these patterns
        rf"(?<![\w/.-])(?:train_)?loss['\"]: ['\"]?{VALUE}",
        r"['\"]loss['\"]: ['\"]?0\.0['\"]?, ['\"]grad_norm['\"]: ['\"]?(?P<value>nan)\b",
        rf"(?<![\w./-]){NAMED}?{OTHER}[Ll][Oo][Ss][Ss](?:_step|_epoch)?(?: ?[:=] ?| ){VALUE}",
        rf"(?<![\w./-]){NAMED}?{OTHER}[Ll]oss ?[:=]? ?tensor\(-?{VALUE}",
        # Megatron; with float16 it skips such a step, and counts it
        r"loss scale: 1\.0 \| grad norm: (?P<value>nan|inf)\b",
        r"(?<![\w/-])[Ll]oss[_.](?!scale)[A-Za-z]\w{0,20}: (?P<value>nan|NaN)(?![\w.-])",
        r"\b[Tt]rain loss (?:\S{1,80} )?contains a NaN\b",  # Composer
        r"Training failed: NaN persisted for \d+ epochs",  # Ultralytics
        r"\binf/nan detected, aborting\b",  # transformers
        r"Monitored metric \S{1,80} = (?P<value>-?(?:nan|inf)) is not finite\.",  # Lightning
        r"\b[Ll]oss is (?P<value>NaN|nan|inf)(?: or (?:inf|Inf|NaN|nan))?[:,;.!]? (?:[Ss]top|[Ee]xit|[Aa]bort|[Tt]erminat|[Ee]nding)",
        r"[Mm]inimum loss scale \((?P<least>[\d.e-]+?)\) (?:is |was )?reached",
    ],
    message="the loss or a gradient is no longer finite[: the loss was <value>][ at iteration <step>][ after <operation>]"
    "[: the loss scale fell to <scale>][: the loss scale fell below <least>]"
    "[: <skipped> of <steps> steps were skipped][, in <parameter>]",
    follows=["p2p-corruption", "gpu-ecc-error"],
    fixes=[
        Fix(
            "Stay away from where there is no finite derivative (torch names <operation>): sqrt, pow, log and norm at 0, a "
            "division by 0",
            "std = torch.sqrt(variance.clamp_min(1e-8))  # was: torch.sqrt(variance)",
            Kind.EDIT,
            source="https://docs.pytorch.org/docs/stable/notes/autograd.html",
        ),
        Fix(
            "Lower the learning rate, and let it rise over the first steps",
            "warmup = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.01, total_iters=1000)",
            Kind.EDIT,
            proof="torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.01",
        ),
        Fix(
            "Compute in bfloat16 instead of float16 (transformers: --bf16), on GPUs from compute capability 8.0 on",
            'with torch.autocast("cuda", dtype=torch.bfloat16):\n    loss = criterion(model(x), y)',
            Kind.EDIT,
        ),
        Fix(
            "Clip the gradients; with float16 and a GradScaler unscale them first",
            "scaler.scale(loss).backward()\nscaler.unscale_(optimizer)\n"
            "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\nscaler.step(optimizer)\nscaler.update()",
            Kind.EDIT,
        ),
        Fix(
            "Name the operation that made the first NaN; slow, for the search alone",
            "torch.autograd.set_detect_anomaly(True)",
            Kind.EDIT,
        ),
        Fix(
            "Run the same script on one GPU: if it stays finite there, suspect the transfers",
            "torchrun --nproc-per-node=1 train.py",
        ),
        Fix(
            "Leave out a bad batch on all ranks at once; its samples are lost, and more than a few mean another fault",
            "bad = (~torch.isfinite(loss.detach())).float()\ndist.all_reduce(bad)\nif bad.item():\n    continue",
            Kind.MITIGATION,
        ),
    ],
)
