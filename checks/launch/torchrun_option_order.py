"""An option for torchrun comes after the script's name, so the script gets it.

## What happens

`torchrun train.py --nproc-per-node=8`: the script says "train.py: error: unrecognized arguments: --nproc-per-node=8" and
ends with exit code 2. A script that ignores what it does not know says nothing: it trains with one process.

## Why

torchrun takes what comes before the script's name, and hands the script everything behind it. The same holds for
accelerate, deepspeed and `python -m torch.distributed.run`.

## How to tell

The command that was typed: the options of torchrun come first, then the script, then its own. With
`print(os.environ["WORLD_SIZE"])` in the script a launch that fell back to one process shows 1.

## See also

- [torchrun: usage](https://docs.pytorch.org/docs/stable/elastic/run.html#usage): its own options come before the script
- [accelerate launch](https://huggingface.co/docs/accelerate/package_reference/cli#accelerate-launch): its options, then the script and the script's
"""

from gpudoctor import Check, Fix, Severity

# torchrun's, accelerate's and deepspeed's own; --local-rank is launch-local-rank.
OPTION = (
    r"(?P<option>--?(?:nproc[-_]per[-_]node|nnodes|node[-_]rank|rdzv[-_](?:backend|endpoint|id|conf)|standalone|"
    r"master[-_](?:addr|port)|max[-_]restarts|num[-_]processes|num[-_]machines|machine[-_]rank|main[-_]process[-_]\w+|"
    r"multi[-_]gpu|num[-_]gpus|num[-_]nodes|hostfile))\b"
)
# A launcher of another version does not know its own option.
NOT_A_LAUNCHER = r"^(?!.{0,120}(?:torchrun|launch\.py|run\.py|accelerate.{0,40}|deepspeed|runner\.py): error)"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        rf"{NOT_A_LAUNCHER}.{{0,200}}[Uu]nrecognized (?:arguments|options): .{{0,400}}?{OPTION}",
        rf"[Nn]o such option:? ['\"]?{OPTION}",
        r"Unknown command line flag '(?P<option>nproc_per_node|nnodes|node_rank|standalone)'",
        rf"not used by the HfArgumentParser: \[.{{0,400}}?{OPTION}",
        rf"Could not consume arg: {OPTION}",
    ],
    message="the script was given the launcher's option <option>: what is meant for the launcher comes before the "
    "script's name",
    fixes=[
        Fix(
            "First torchrun's options, then the script, then the script's own",
            "torchrun --standalone --nproc-per-node=N train.py --lr=0.1",
            proof=".py --lr=0.1",
        ),
        Fix("The same for accelerate", "accelerate launch --num_processes=N train.py --lr=0.1"),
        Fix("And for deepspeed", "deepspeed --num_gpus=N train.py --deepspeed ds_config.json"),
    ],
)
