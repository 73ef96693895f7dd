"""device-map-with-ddp: seen in logs."""

MESSAGE = "the model was loaded across devices, and several processes train it: each needs a whole copy on its own GPU"
EXAMPLES = {
    (
        "[rank1]: ValueError: You can't train a model that has been loaded with `device_map='auto'` in any distributed mode. "
        "Please rerun your script specifying `--num_processes=1` or by launching with `python {{myscript.py}}`."
    ): (
        "the model was loaded with device_map=auto across devices, and several processes train it: each needs "
        "a whole copy on its own GPU"
    ),
    (
        "ValueError: You can't train a model that has been loaded in 8-bit precision on multiple devices in any distributed "
        "mode. In order to use 8-bit models that have been loaded across multiple GPUs the solution is to use Naive Pipeline"
    ): (
        "the model was loaded in 8-bit precision across devices, and several processes train it: each needs a "
        "whole copy on its own GPU"
    ),
    (
        "ValueError: You can't train a model that has been loaded in 8-bit or 4-bit precision on a different device than the "
        "one you're training on. Make sure you loaded the model on the correct device using for example `device_map={'':0}`"
    ): (
        "the model was loaded in 8-bit or 4-bit precision across devices, and several processes train it: each "
        "needs a whole copy on its own GPU"
    ),
    "ValueError: You can't train a model that has been loaded in 8-bit or 4-bit precision with CPU or disk offload.": (
        "the model was loaded in 8-bit or 4-bit precision across devices, and several processes train it: each "
        "needs a whole copy on its own GPU"
    ),
    (
        "ValueError: Your model contains `DTensor` parameters, which is incompatible with DDP. Maybe you loaded your model "
        "with `device_map='auto'`? Specify `device_map='cuda'` or 'xpu' or 'cpu' instead."
    ): MESSAGE,
    "You've set device_map=`auto` while triggering a distributed run with torchrun. This might lead to unexpected behavior.": (
        "the model was loaded with device_map=auto across devices, and several processes train it: each needs "
        "a whole copy on its own GPU"
    ),
    "ValueError: DeepSpeed Zero-3 is not compatible with `low_cpu_mem_usage=True` or with passing a `device_map`.": MESSAGE,
    "ValueError: DeepSpeed Zero-3 is not compatible with passing a `device_map`.": MESSAGE,
}
NOT_THIS = [
    "model = AutoModelForCausalLM.from_pretrained(name, device_map='auto')",
    "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cuda:1!",
    "You shouldn't move a model that is dispatched using accelerate hooks.",
]

FLAGGED = [
    """
import os
import torch
import torch.distributed as dist
from transformers import AutoModelForCausalLM

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
teacher = AutoModelForCausalLM.from_pretrained("gpt2", device_map="auto")  # <-
student = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
dist.destroy_process_group()
""",
    """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import AutoModelForCausalLM

local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
dist.init_process_group("nccl")
model = AutoModelForCausalLM.from_pretrained("gpt2", device_map="auto")  # <-
model = DDP(model)
dist.destroy_process_group()
""",
    """
import torch
import transformers
from torch.nn.parallel import DistributedDataParallel

def build(local_rank):
    return transformers.AutoModel.from_pretrained("bert-base-uncased", device_map="balanced")  # <-

def main(local_rank):
    torch.cuda.set_device(local_rank)
    torch.distributed.init_process_group("nccl")
    model = build(local_rank)
    return DistributedDataParallel(model, device_ids=[local_rank])
""",
]
FINE = [
    """
import os
import torch
import torch.distributed as dist
from transformers import AutoModelForCausalLM

teacher = AutoModelForCausalLM.from_pretrained("gpt2", device_map="auto")
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
other = AutoModelForCausalLM.from_pretrained("gpt2", device_map={"": int(os.environ["LOCAL_RANK"])})
dist.destroy_process_group()
""",
    """
import transformers

model = transformers.AutoModel.from_pretrained("bert-base-uncased", device_map="auto")
print(model)
""",
    """
import os
import torch
import transformers
from torch.nn.parallel import DistributedDataParallel

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
torch.distributed.init_process_group("nccl")
model = transformers.AutoModel.from_pretrained("bert-base-uncased", device_map={"": int(os.environ["LOCAL_RANK"])})
model = DistributedDataParallel(model)
torch.distributed.destroy_process_group()
""",
]
