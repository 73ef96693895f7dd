"""torchrun-option-order: seen in logs."""

REST = ": what is meant for the launcher comes before the script's name"
EXAMPLES = {
    "train.py: error: unrecognized arguments: --nproc-per-node=2": (
        f"the script was given the launcher's option --nproc-per-node{REST}"
    ),
    "train.py: error: unrecognized arguments: --nproc_per_node 2 --lr 3": (
        f"the script was given the launcher's option --nproc_per_node{REST}"
    ),
    "Error: No such option: --nnodes": f"the script was given the launcher's option --nnodes{REST}",
    "FATAL Flags parsing error: Unknown command line flag 'nproc_per_node'": (
        f"the script was given the launcher's option nproc_per_node{REST}"
    ),
    (
        "ValueError: Some specified arguments are not used by the HfArgumentParser: ['--nproc_per_node', '8']"
    ): f"the script was given the launcher's option --nproc_per_node{REST}",
    "ERROR: Could not consume arg: --master_port=29501": (
        f"the script was given the launcher's option --master_port{REST}"
    ),
}
NOT_THIS = [
    "torchrun: error: unrecognized arguments: --nproc-per-node=2",
    "train.py: error: unrecognized arguments: --local-rank=0",
    "train.py: error: unrecognized arguments: --learning-rate=2",
    "torchrun train.py --nproc-per-node=2",
]
