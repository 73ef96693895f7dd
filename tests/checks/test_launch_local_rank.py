"""launch-local-rank: seen in logs."""

MESSAGE = "launcher and script do not agree on the option --local-rank: one passes it, and the other does not know it"
EXAMPLES = {
    "train.py: error: unrecognized arguments: --local-rank=0": MESSAGE,
    "1: main.py: error: unrecognized arguments: --lr 0.1 --local_rank=1": (
        "launcher and script do not agree on the option --local_rank: one passes it, and the other does not "
        "know it"
    ),
    "Error: unrecognized arguments: –local_rank=7": (
        "launcher and script do not agree on the option –local_rank: one passes it, and the other does not "
        "know it"
    ),
    "Error: No such option: --local-rank Did you mean --local_rank?": MESSAGE,
    "Error: no such option: --local_rank": (
        "launcher and script do not agree on the option --local_rank: one passes it, and the other does not "
        "know it"
    ),
    "│ No such option: --local-rank                                                  │": MESSAGE,
    "  Unknown command line flag 'local-rank'. Did you mean: local_rank ?": (
        "launcher and script do not agree on the option local-rank: one passes it, and the other does not know "
        "it"
    ),
    "ValueError: Some specified arguments are not used by the HfArgumentParser: ['--local-rank=0']": MESSAGE,
    "ERROR: Could not consume arg: --local-rank=0": MESSAGE,
    "train.py: error: the following arguments are required: --data, --local_rank": (
        "the script insists on --local_rank, which its launcher does not pass"
    ),
    "If your script expects `--local-rank` argument to be set, please\nusage: train.py [-h] [--opt OPT]\n                [--local_rank LOCAL_RANK]": (
        "launcher and script do not agree on the option --local_rank: one passes it, and the other does not know it"
    ),
    "AttributeError: 'Namespace' object has no attribute 'local_rank'": (
        "launcher and script do not agree on the option local_rank: one passes it, and the other does not know "
        "it"
    ),
}
NOT_THIS = [
    "train.py: error: unrecognized arguments: --nproc_per_node=2",
    "[launch.py:321:sigkill_handler] ['python', '-u', 'main.py', '--local_rank=0'] exits with return code = 1",
    "subprocess.CalledProcessError: Command '['python', '-u', 'train.py', '--local_rank=1']' returned non-zero exit status 1.",
    "If your script expects `--local-rank` argument to be set, please",
    "  rank      : 0 (local_rank: 0)",
]

FLAGGED = [
    """
import argparse
import deepspeed
from parts import Net, data

parser = argparse.ArgumentParser()
parser.add_argument("--config", default="ds.json")
args = parser.parse_args()  # <-
net = Net()
engine, _, loader, _ = deepspeed.initialize(args=args, model=net, model_parameters=net.parameters(), training_data=data, config=args.config)
for x in loader:
    engine.backward(engine(x))
    engine.step()
""",
    """
import argparse
from restoration.dist import init_dist

def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=0)  # <-
    return parser.parse_args()

args = options()
init_dist("pytorch")
""",
    """
import argparse

def get_parser():
    parser = argparse.ArgumentParser()
    parser.add_argument("--launcher", choices=["none", "pytorch", "slurm"], default="none")
    parser.add_argument("--local_rank", type=int, default=0, help="local rank for distributed training")  # <-
    return parser.parse_args()

args = get_parser()
""",
    """
import argparse
import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--local-rank", type=int)  # <-
args = parser.parse_args()
torch.cuda.set_device(args.local_rank)
dist.init_process_group("nccl")
""",
    """
import torch
import torch.distributed as dist
from absl import app, flags

FLAGS = flags.FLAGS
flags.DEFINE_integer("local_rank", 0, "set by the launcher")  # <-

def main(_):
    torch.cuda.set_device(FLAGS.local_rank)
    dist.init_process_group("nccl")

app.run(main)
""",
    """
import click
import torch

@click.command()
@click.option("--local_rank", default=0)  # <-
def main(local_rank):
    torch.cuda.set_device(local_rank)
    torch.distributed.init_process_group("nccl")

main()
""",
    """
import argparse
import os
import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)  # <-
args = parser.parse_args()
if "LOCAL_RANK" not in os.environ:
    os.environ["LOCAL_RANK"] = str(args.local_rank)
torch.cuda.set_device(args.local_rank)
dist.init_process_group("nccl")
dist.destroy_process_group()
""",
    (
        "torchrun.py",
        {
            'parser.add_argument("--epochs", type=int, default=3)': 'parser.add_argument("--epochs", type=int, default=3)\n    parser.add_argument("--local_rank", type=int, default=0)  # <-',
            'int(os.environ["LOCAL_RANK"])': "args.local_rank",
        },
    ),
    """
from argparse import ArgumentParser
import torch

p = ArgumentParser()
p.add_argument("-l", "--local_rank", default=-1, type=int)  # <-
opt = p.parse_args()
torch.cuda.set_device(opt.local_rank)
torch.distributed.init_process_group(backend="nccl", init_method="env://")
torch.distributed.destroy_process_group()
""",
]
FINE = [
    """
import argparse
import deepspeed
from parts import Net, add_options, data

parser = argparse.ArgumentParser()
add_options(parser)
args = parser.parse_args()
net = Net()
engine, _, loader, _ = deepspeed.initialize(args=args, model=net, model_parameters=net.parameters(), training_data=data)
for x in loader:
    engine.backward(engine(x))
    engine.step()
""",
    """
import argparse
import deepspeed
from parts import Net, data

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=-1)
parser = deepspeed.add_config_arguments(parser)
args = parser.parse_args()
net = Net()
engine, _, loader, _ = deepspeed.initialize(args=args, model=net, model_parameters=net.parameters(), training_data=data)
for x in loader:
    engine.backward(engine(x))
    engine.step()
""",
    """
import argparse
from restoration.dist import init_dist

def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=0)
    return parser.parse_args()

args = options()
""",
    """
import argparse
import os
from mmengine.dist import init_dist
from torch.utils.data import DataLoader, DistributedSampler

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)
args = parser.parse_args()
if "LOCAL_RANK" not in os.environ:
    os.environ["LOCAL_RANK"] = str(args.local_rank)
init_dist("pytorch")
sampler = DistributedSampler([1, 2, 3])
for epoch in range(3):
    sampler.set_epoch(epoch)
    for x in DataLoader([1, 2, 3], sampler=sampler):
        print(x)
""",
    """
import argparse

def get_parser():
    parser = argparse.ArgumentParser()
    parser.add_argument("--deepspeed_config", default="ds.json")
    parser.add_argument("--local_rank", type=int, default=0, help="local rank for distributed training")
    return parser.parse_args()

args = get_parser()
""",
    """
import argparse
import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--local-rank", type=int, default=0)
args = parser.parse_args()
dist.init_process_group("gloo")
print(dist.get_rank())
dist.destroy_process_group()
""",
    """
import argparse
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def train(rank, args):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29544", rank=rank, world_size=args.size)
    dist.barrier()
    dist.destroy_process_group()

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=0)
    parser.add_argument("--size", type=int, default=2)
    args = parser.parse_args()
    mp.spawn(train, args=(args,), nprocs=args.size)
""",
    """
import argparse, os
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--local-rank", type=int, default=int(os.environ.get("LOCAL_RANK", 0)))
args = parser.parse_args()
dist.init_process_group("nccl")
""",
    """
from absl import app, flags

flags.DEFINE_integer("local_rank", 0, "of a queue, not of torch")
print(flags.FLAGS.local_rank)
""",
    """
import os
import click
import torch

@click.command()
@click.option("--local_rank", default=int(os.environ.get("LOCAL_RANK", 0)))
def main(local_rank):
    torch.cuda.set_device(local_rank)
    torch.distributed.init_process_group("nccl")

main()
""",
    (
        "torchrun.py",
        {
            'parser.add_argument("--epochs", type=int, default=3)': 'parser.add_argument("--local_rank", "--local-rank", type=int, default=0)\n    parser.add_argument("--epochs", type=int, default=3)'
        },
    ),
    (
        "torchrun.py",
        {
            'parser.add_argument("--epochs", type=int, default=3)': 'parser.add_argument("--local_rank", type=int, default=int(os.environ.get("LOCAL_RANK", 0)))\n    parser.add_argument("--epochs", type=int, default=3)'
        },
    ),
    """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument('--local_rank', type=int)
import torch
print(parser.parse_args())
""",
    """
# a cluster's own module tells the ranks apart
import argparse
import cluster
import deepspeed
import torch
deepspeed.init_distributed("nccl")
torch.cuda.set_device(cluster.local_rank)
parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=1)
args = parser.parse_args()
net = torch.nn.Linear(2, 2)
engine, *_ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config="ds.json")
""",
]
