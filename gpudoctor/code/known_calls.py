"""What is known of the functions and classes that scripts use: their one name, their parameters, what they make."""

import functools
import re

from gpudoctor.facts import Argument

ALIASES = {
    "torch.nn.parallel.distributed.DistributedDataParallel": "torch.nn.parallel.DistributedDataParallel",
    "torch.distributed.DistributedDataParallel": "torch.nn.parallel.DistributedDataParallel",
    "torch.nn.parallel.DataParallel": "torch.nn.DataParallel",
    "torch.nn.parallel.data_parallel.DataParallel": "torch.nn.DataParallel",
    "torch.nn.parallel.data_parallel.data_parallel": "torch.nn.parallel.data_parallel",
    "torch.utils.data.distributed.DistributedSampler": "torch.utils.data.DistributedSampler",
    "torch.utils.data.dataloader.DataLoader": "torch.utils.data.DataLoader",
    "torch.utils.data.dataset.Dataset": "torch.utils.data.Dataset",
    "torch.multiprocessing.spawn.spawn": "torch.multiprocessing.spawn",
    "torch.multiprocessing.start_processes": "torch.multiprocessing.spawn",
    "torch.multiprocessing.Process": "multiprocessing.Process",
    "multiprocessing.process.Process": "multiprocessing.Process",
    "torch.multiprocessing.set_start_method": "multiprocessing.set_start_method",
    "torch.multiprocessing.get_context": "multiprocessing.get_context",
    "torch.cuda.amp.GradScaler": "torch.amp.GradScaler",
    "torch.cuda.amp.grad_scaler.GradScaler": "torch.amp.GradScaler",
    "torch.cuda.amp.autocast": "torch.amp.autocast",
    "torch.autocast": "torch.amp.autocast",
    "torch.nn.utils.clip_grad.clip_grad_norm_": "torch.nn.utils.clip_grad_norm_",
    "torch.nn.utils.clip_grad_norm": "torch.nn.utils.clip_grad_norm_",
    "torch.nn.modules.Module": "torch.nn.Module",
    "torch.nn.modules.module.Module": "torch.nn.Module",
    "torch.serialization.load": "torch.load",
    "torch.serialization.save": "torch.save",
    "torch.random.manual_seed": "torch.manual_seed",
    "torch.cuda.random.manual_seed": "torch.cuda.manual_seed",
    "torch.Module": "torch.nn.Module",
    "torch.nn.functional.torch.softmax": "torch.softmax",
    "accelerate.accelerator.Accelerator": "accelerate.Accelerator",
}
"""Where torch exports one thing under several names."""

MOVED = (
    ("torch.distributed.distributed_c10d.", "torch.distributed."),
    ("torch.distributed.deprecated.", "torch.distributed."),
    ("torch.distributed._composable.fsdp.", "torch.distributed.fsdp."),
    ("torch.utils.data.sampler.", "torch.utils.data."),
    ("torch.utils.data.dataset.", "torch.utils.data."),
    ("torch.nn.modules.", "torch.nn."),
    ("torch.distributed.fsdp.fully_sharded_data_parallel.", "torch.distributed.fsdp."),
    ("pytorch_lightning.", "lightning.pytorch."),
)
_SUBMODULE = re.compile(
    r"^(torch\.(?:optim|nn))\.(?!lr_scheduler\.|parallel\.|utils\.|quantiz)[a-z_]+\.(?=[A-Z][A-Za-z]+$)"
)

SIGNATURES = {
    name: parameters.split()
    for name, parameters in {
        "torch.distributed.init_process_group": "backend init_method timeout world_size rank store group_name",
        "torch.distributed.all_reduce": "tensor op group async_op",
        "torch.distributed.broadcast": "tensor src group async_op",
        "torch.distributed.reduce": "tensor dst op group async_op",
        "torch.distributed.all_gather": "tensor_list tensor group async_op",
        "torch.distributed.all_gather_object": "object_list obj group",
        "torch.distributed.all_gather_into_tensor": "output_tensor input_tensor group async_op",
        "torch.distributed.gather": "tensor gather_list dst group async_op",
        "torch.distributed.gather_object": "obj object_gather_list dst group",
        "torch.distributed.scatter": "tensor scatter_list src group async_op",
        "torch.distributed.broadcast_object_list": "object_list src group device",
        "torch.distributed.send": "tensor dst group tag",
        "torch.distributed.recv": "tensor src group tag",
        "torch.distributed.barrier": "group async_op device_ids",
        "torch.distributed.new_group": "ranks timeout backend",
        "torch.distributed.destroy_process_group": "group",
        "torch.nn.parallel.DistributedDataParallel": "module device_ids output_device dim broadcast_buffers",
        "apex.parallel.DistributedDataParallel": "module",
        "torch.nn.DataParallel": "module device_ids output_device dim",
        "torch.nn.parallel.data_parallel": "module inputs device_ids output_device dim module_kwargs",
        "torch.distributed.fsdp.FullyShardedDataParallel": "module process_group",
        "torch.distributed.fsdp.fully_shard": "module",
        "torch.nn.SyncBatchNorm.convert_sync_batchnorm": "module process_group",
        "torch.compile": "model",
        "ray.train.torch.prepare_model": "model",
        "ignite.distributed.auto_model": "model",
        "torch.utils.data.DataLoader": "dataset batch_size shuffle sampler batch_sampler num_workers collate_fn "
        "pin_memory drop_last timeout worker_init_fn multiprocessing_context generator",
        "torch_geometric.loader.DataLoader": "dataset batch_size shuffle follow_batch exclude_keys",
        "torch.utils.data.DistributedSampler": "dataset num_replicas rank shuffle seed drop_last",
        "torch.utils.data.SubsetRandomSampler": "indices generator",
        "torch.utils.data.RandomSampler": "data_source replacement num_samples generator",
        "torch.utils.data.SequentialSampler": "data_source",
        "torch.utils.data.BatchSampler": "sampler batch_size drop_last",
        "torch.utils.data.random_split": "dataset lengths generator",
        "torch.utils.data.Subset": "dataset indices",
        **dict.fromkeys(
            [f"torchvision.datasets.{n}" for n in "CIFAR10 CIFAR100 MNIST FashionMNIST KMNIST".split()],
            "root train transform target_transform download",
        ),
        "torchvision.datasets.SVHN": "root split transform target_transform download",
        "torchvision.datasets.STL10": "root split folds transform target_transform download",
        "torchvision.datasets.VOCDetection": "root year image_set download transform",
        "torchvision.datasets.VOCSegmentation": "root year image_set download transform",
        "torch.load": "f map_location pickle_module",
        "torch.save": "obj f",
        "torch.utils.checkpoint.checkpoint": "function",
        "torch.device": "type index",
        "torch.cuda.set_device": "device",
        "torch.cuda.device": "device",
        "torch.accelerator.set_device_index": "device",
        "torch.accelerator.device_index": "device",
        "torch.cuda.manual_seed": "seed",
        "torch.cuda.manual_seed_all": "seed",
        "torch.manual_seed": "seed",
        "random.seed": "a",
        "numpy.random.seed": "seed",
        "torch.multiprocessing.spawn": "fn args nprocs join daemon start_method",
        "multiprocessing.Process": "group target name args kwargs",
        "multiprocessing.set_start_method": "method force",
        "multiprocessing.get_context": "method",
        "torch.softmax": "input dim dtype",
        "torch.log_softmax": "input dim dtype",
        "torch.nn.functional.softmax": "input dim _stacklevel dtype",
        "torch.nn.functional.log_softmax": "input dim _stacklevel dtype",
        "torch.nn.functional.softmin": "input dim _stacklevel dtype",
        "torch.nn.Softmax": "dim",
        "torch.nn.LogSoftmax": "dim",
        "torch.nn.Softmin": "dim",
        "torch.nn.utils.clip_grad_norm_": "parameters max_norm norm_type",
        "torch.nn.utils.clip_grad_value_": "parameters clip_value",
        "apex.amp.initialize": "models optimizers",
        "intel_extension_for_pytorch.optimize": "model dtype optimizer",
        "os.environ.get": "key default",
        "os.getenv": "key default",
        "os.environ.setdefault": "key default",
        "os.makedirs": "name mode exist_ok",
        "os.mkdir": "path mode",
        "open": "file mode",
        "torch.nn.parallel.scatter": "inputs target_gpus dim",
        "torch.nn.parallel.replicate": "network devices detach",
    }.items()
}
"""Parameters in order, for the functions whose arguments checks read; from their definitions in torch 2.15."""

METHODS = {
    name: parameters.split()
    for name, parameters in {
        "load_state_dict": "state_dict strict assign",
        "set_epoch": "epoch",
        "backward": "gradient retain_graph create_graph inputs",
        "to": "device dtype non_blocking copy",
        "cuda": "device non_blocking",
        "set_start_method": "method force",
    }.items()
}
"""Parameters of methods, by their last name."""

KINDS = {
    "torch.nn.parallel.DistributedDataParallel": "ddp",
    "apex.parallel.DistributedDataParallel": "ddp",
    "torch.nn.DataParallel": "dp",
    "torch.distributed.fsdp.FullyShardedDataParallel": "fsdp",
    "torch.compile": "compiled",
    "ray.train.torch.prepare_model": "prepared",
    "ignite.distributed.auto_model": "prepared",
    "torch.distributed.optim.ZeroRedundancyOptimizer": "optimizer",
    "torch.utils.data.DataLoader": "loader",
    "torchdata.stateful_dataloader.StatefulDataLoader": "loader",
    "torch_geometric.loader.DataLoader": "loader",
    "torch.amp.GradScaler": "scaler",
    "torch.Generator": "generator",
    "torch.load": "checkpoint",
    "argparse.ArgumentParser": "parser",
    "transformers.HfArgumentParser": "parser",
    "multiprocessing.Process": "process",
    "torch.utils.tensorboard.SummaryWriter": "writer",
    "tensorboardX.SummaryWriter": "writer",
    "torch.utils.data.Subset": "dataset",
    "torch.utils.data.TensorDataset": "dataset",
    "torch.utils.data.ConcatDataset": "dataset",
    "torch.distributed.new_group": "group",
    "torch.nn.Parameter": "parameter",
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm": "model",
}
PREFIXES = (
    ("torch.optim.lr_scheduler.", "scheduler"),
    ("torch.optim.", "optimizer"),
    ("torchvision.datasets.", "dataset"),
    ("torchaudio.datasets.", "dataset"),
    ("torchtext.datasets.", "dataset"),
    ("torchvision.models.", "model"),
    ("torchvision.transforms.", "object"),
    ("torch.nn.utils.", ""),
    ("torch.nn.functional.", ""),
    ("torch.nn.init.", ""),
    ("torch.nn.parallel.", ""),
    ("torch.nn.", "model"),
)
"""What a class makes by how its full name begins; empty for what makes no object."""
MODEL_MAKERS = frozenset(
    {"timm.create_model", "segmentation_models_pytorch.Unet", "torch.hub.load", "timm.models.create_model"}
)
NO_MODULES = frozenset(
    {"torch.nn.Parameter", "torch.nn.Identity", "torch.nn.ParameterList", "torch.nn.ParameterDict"}
)
SAMPLERS = re.compile(r"^torch\.utils\.data\.\w*Sampler$")
_LOSS = re.compile(r"^torch\.nn\.\w+Loss$")

FRAMEWORKS = {
    "lightning": "lightning",
    "pytorch_lightning": "lightning",
    "lightning_fabric": "lightning",
    "accelerate": "accelerate",
    "deepspeed": "deepspeed",
    "ray": "ray",
    "torchtitan": "torchtitan",
    "mmengine": "mmengine",
    "mmcv": "mmengine",
    "detectron2": "detectron2",
    "composer": "composer",
    "horovod": "horovod",
    "ignite": "ignite",
    "colossalai": "colossalai",
    "fastai": "fastai",
    "catalyst": "catalyst",
    "torchtnt": "torchtnt",
    "bagua": "bagua",
    "fairscale": "fairscale",
    "megatron": "megatron",
    "monai": "monai",
    "parallelformers": "parallelformers",
    "bmtrain": "bmtrain",
}
"""First part of an import -> the library that distributes for the user."""
TRAINERS = frozenset(
    {"transformers.Trainer", "transformers.Seq2SeqTrainer"}
    | {f"trl.{name}Trainer" for name in ("SFT", "DPO", "GRPO", "KTO", "ORPO", "CPO", "PPO", "RLOO", "Reward")}
)


@functools.lru_cache(4096)
def canonical(name: str) -> str:
    """Return the one name of something that torch exports under several."""
    if not name.startswith(("torch.", "pytorch_lightning.", "multiprocessing.", "accelerate.")):
        return name
    for old, new in MOVED:
        if name.startswith(old):
            name = new + name[len(old) :]
            break
    name = _SUBMODULE.sub(r"\1.", name)
    return ALIASES.get(name, name)


@functools.lru_cache(4096)
def kind(name: str) -> str:
    """Return the kind of thing that a call of `name` makes, empty where it makes none that matters."""
    if name in KINDS:
        return KINDS[name]
    if SAMPLERS.match(name):
        return "sampler"
    if _LOSS.match(name):
        return "loss"
    if name in MODEL_MAKERS:
        return "model"
    if name.endswith(".from_pretrained") and name.startswith("transformers."):
        return "" if "Tokenizer" in name or "Processor" in name or "Config" in name else "model"
    for prefix, made in PREFIXES:
        if name.startswith(prefix):
            rest = name[len(prefix) :]
            if prefix == "torchvision.models.":
                return made if rest.rpartition(".")[2] not in ("get_model_weights", "list_models") else ""
            return made if rest[:1].isupper() else ""
    return ""


def parameters(name: str) -> list[str] | None:
    """Return the parameters of a known function in their order, ``None`` for one that is not known."""
    found = SIGNATURES.get(name)
    if found is None and name.startswith("torch.optim.") and not name.startswith("torch.optim.lr_scheduler"):
        last = name.rpartition(".")[2]
        return ["params", "lr"] if last[:1].isupper() else None
    return found


def named(
    name: str, attribute: str, positional: list[Argument], keywords: dict[str, Argument]
) -> dict[str, Argument]:
    """Return arguments by their parameters' names, where the function is known, else by number."""
    known = parameters(name) or METHODS.get(attribute) or []
    found = {known[n] if n < len(known) else str(n): argument for n, argument in enumerate(positional)}
    found.update(keywords)
    return found
