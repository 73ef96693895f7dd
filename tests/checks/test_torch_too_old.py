"""torch-too-old: seen in logs."""

MESSAGE = "the installed torch is older than what uses it"
EXAMPLES = {
    "RuntimeError: version_ <= kMaxSupportedFileFormatVersion INTERNAL ASSERT FAILED at inline_container.cc:132": MESSAGE,
    "My server's torch gives `AttributeError: module 'torch' has no attribute 'count_nonzero'` in the metric": MESSAGE
    + ": it does not have count_nonzero",
    "module 'torch.optim' has no attribute 'RAdam', do I need an update?": MESSAGE
    + ": it does not have RAdam",
    "with torch.no_grad():\nAttributeError: 'module' object has no attribute 'no_grad'": MESSAGE
    + ": it does not have no_grad",
    "ModuleNotFoundError: No module named 'torch._custom_ops'": MESSAGE + ": it does not have _custom_ops",
    "RuntimeError: fastkernels needs torch>=3.0 but 2.15.0 is installed": "the installed torch is older than what uses it, which asks for 3.0 or later",
    "AssertionError: PyTorch version must be at least 2.20, got 2.15": "the installed torch is older than what uses it, which asks for 2.20 or later",
    "AttributeError: module 'torch.jit' has no attribute '_script_if_tracing'": "the installed torch is older than what uses it: it does not have _script_if_tracing",
    "[transformers] Disabling PyTorch because PyTorch >= 2.4 is required but found 2.3.0": (
        "the installed torch (2.3.0) is older than what uses it, which asks for 2.4 or later"
    ),
    "ImportError: torch>=2.0 is required for a normal functioning of this module, but found torch==1.13.1.": (
        "the installed torch (1.13.1) is older than what uses it, which asks for 2.0 or later"
    ),
    "accelerate 1.9.0 requires torch>=2.0.0, but you have torch 1.13.1 which is incompatible.": (
        "the installed torch (1.13.1) is older than what uses it, which asks for 2.0.0 or later"
    ),
    "ModuleNotFoundError: Requirement 'torch>=2.1.0' not met. HINT: Try running `pip install -U 'torch>=2.1.0'`": (
        MESSAGE + ", which asks for 2.1.0 or later"
    ),
    "pkg_resources.VersionConflict: (torch 1.7.1 (/env/lib/python3.8/site-packages), Requirement.parse('torch>=1.9'))": (
        "the installed torch (1.7.1) is older than what uses it, which asks for 1.9 or later"
    ),
    "ValueError: FSDP2 requires PyTorch >= 2.6.0": MESSAGE + ", which asks for 2.6.0 or later",
    "[rank0]: ValueError: --optim adamw_torch_fused with --fp16 requires PyTorch>2.0": (
        MESSAGE + ", which asks for 2.0 or later"
    ),
    "ValueError: Using `torch.compile` requires PyTorch 2.0 or higher.": (
        MESSAGE + ", which asks for 2.0 or later"
    ),
    "ValueError: Due to a serious vulnerability issue in `torch.load`, even with `weights_only=True`, we now require users to upgrade torch to at least v2.6 in order to use the function.": (
        MESSAGE + ", which asks for 2.6 or later"
    ),
    "RuntimeError: Your pytorch version is too old": MESSAGE,
    "AssertionError: RingAttnFunc requires a newer version of PyTorch": MESSAGE,
    "RuntimeError: version_ <= kMaxSupportedFileFormatVersion INTERNAL ASSERT FAILED. Attempted to read a PyTorch file with version 3, but the maximum supported version for reading is 2. Your PyTorch installation may be too old.": (
        MESSAGE + ": the file has format 3"
    ),
    "RuntimeError: /data/run/model.pth is a zip archive (did you mean to use torch.jit.load()?)": MESSAGE,
    "AttributeError: module 'torch' has no attribute 'compiler'. Did you mean: 'compile'?": (
        MESSAGE + ": it does not have compiler"
    ),
    "AttributeError: module 'torch.utils._pytree' has no attribute 'register_pytree_node'. Did you mean: '_register_pytree_node'?": (
        MESSAGE + ": it does not have register_pytree_node"
    ),
    "Traceback (most recent call last):\n  File \"/env/lib/python3.10/site-packages/somelib/ops.py\", line 12, in <module>\n    KIND = torch.brand_new_kind\nAttributeError: module 'torch' has no attribute 'brand_new_kind'": (
        "a library asks torch for brand_new_kind, which this torch does not have: one of the two is too old"
    ),
    "ModuleNotFoundError: No module named 'torch.distributed.checkpoint.format_utils'": (
        MESSAGE + ": it does not have distributed.checkpoint.format_utils"
    ),
    "/usr/bin/python: No module named torch.distributed.run": (
        MESSAGE + ": it does not have distributed.run"
    ),
    "ImportError: cannot import name 'fully_shard' from 'torch.distributed.fsdp' (/env/lib/python3.11/site-packages/torch/distributed/fsdp/__init__.py)": (
        MESSAGE + ": it does not have fully_shard"
    ),
    (
        '  File "/env/lib/python3.11/site-packages/somelib/data.py", line 7, in <module>\n'
        "    from torch.utils.data import brand_new_loader\n"
        "ImportError: cannot import name 'brand_new_loader' from 'torch.utils.data' (/env/lib/python3.11/site-packages/torch/utils/data/__init__.py)"
    ): "a library asks torch for brand_new_loader, which this torch does not have: one of the two is too old",
    "TypeError: __init__() got an unexpected keyword argument 'static_graph'": (
        MESSAGE + ": it does not have static_graph"
    ),
    "TypeError: init_process_group() got an unexpected keyword argument 'device_id'": (
        MESSAGE + ": it does not have device_id"
    ),
    "TypeError: 'weights_only' is an invalid keyword argument for Unpickler()": (
        MESSAGE + ": it does not have weights_only"
    ),
    "AttributeError: 'DistributedDataParallel' object has no attribute '_set_static_graph'": (
        MESSAGE + ": it does not have _set_static_graph"
    ),
    "AttributeError: module 'torch.distributed' has no attribute 'device_mesh'": (
        MESSAGE + ": it does not have device_mesh"
    ),
    (
        "    train_sampler = DistributedSampler(train, **dist_sampler_params)\n"
        "TypeError: __init__() got an unexpected keyword argument 'drop_last'"
    ): MESSAGE + ": it does not have drop_last",
    (
        "    from torch.distributed.fsdp._fully_shard._fsdp_common import (\n"
        "ImportError: cannot import name 'ShardPlacementResult"
    ): "a library asks torch for ShardPlacementResult, which this torch does not have: one of the two is too old",
    "OSError: The sharded writer requires `torch>=2.8` with its planner.": (
        "the installed torch is older than what uses it, which asks for 2.8 or later"
    ),
    "AssertionError: The ring pass requires PyTorch version 1.8 or higher": (
        "the installed torch is older than what uses it, which asks for 1.8 or later"
    ),
    "RuntimeError: Torch version must be 2.5 or higher to use the pool.": (
        "the installed torch is older than what uses it, which asks for 2.5 or later"
    ),
    "AssertionError: PyTorch >= 2.0.0 is required to compile the tower": (
        "the installed torch is older than what uses it, which asks for 2.0.0 or later"
    ),
    "ValueError: Context slices are only available in PyTorch 2.6.0 and later versions.": (
        "the installed torch is older than what uses it, which asks for 2.6.0 or later"
    ),
    "RuntimeError: The flow pass is not available with PyTorch < 2.0.": (
        "the installed torch is older than what uses it, which asks for 2.0 or later"
    ),
    "AssertionError: For captured graphs, please upgrade torch to at least v1.10": (
        "the installed torch is older than what uses it, which asks for 1.10 or later"
    ),
    "AssertionError: The minimum pytorch version requirements of kit is 1.5.0, but got 1.4.0": (
        "the installed torch is older than what uses it, which asks for 1.5.0 or later"
    ),
    "ValueError: This checkpoint was likely saved with a newer version of torch.": (
        "the installed torch is older than what uses it"
    ),
    "ImportError: cannot import name 'DeviceMesh' from 'torch.distributed.device_mesh'": "a library asks torch for DeviceMesh, which this torch does not have: one of the two is too old",
    "TypeError: load() got an unexpected keyword argument 'weights_only'": "the installed torch is older than what uses it: it does not have weights_only",
    "TypeError: __init__() got an unexpected keyword argument 'persistent_workers'": "the installed torch is older than what uses it: it does not have persistent_workers",
}
NOT_THIS = [
    "self.flip = transforms.flip\nAttributeError: 'module' object has no attribute 'flip'",
    "ValueError: Your setup doesn't support bf16/gpu. You need torch>=1.10, using Ampere GPU with cuda>=11.0",
    "  File \"/data/proj/train.py\", line 3, in <module>\n    from torch.utils.data import DataLoader2\nImportError: cannot import name 'DataLoader2' from 'torch.utils.data' (/env/lib/python3.11/site-packages/torch/utils/data/__init__.py)",
    "AttributeError: module 'torch' has no attribute '_six'",
    "ModuleNotFoundError: No module named 'torch._six'",
    "AttributeError: module 'torch' has no attribute 'zeros'",
    # a name from a configuration, which a library only looks up
    "Traceback (most recent call last):\n  File \"/env/lib/python3.11/site-packages/conf/make.py\", line 12, in locate\n    found = getattr(found, part)\nAttributeError: module 'torch.nn' has no attribute 'Linearr'. Did you mean: 'Linear'?",
    "AttributeError: module 'torch.distributed' has no attribute 'ReduceOp'",
    "AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'",
    "AttributeError: module 'torch' has no attribute 'zeroes'",
    "ImportError: cannot import name 'log' from 'torch.distributed.elastic.agent.server.api' (/env/lib/python3.11/site-packages/torch/distributed/elastic/agent/server/api.py)",
    "torchvision 0.15.2 requires torch==2.0.1, but you have torch 2.1.0 which is incompatible.",
    "torchvision 0.29.2 requires torch>=2.14.0, but you have torch 2.13.0 which is incompatible.",
    "Requirement already satisfied: torch>=2.0.0 in /env/lib/python3.11/site-packages",
    "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).",
    "UserWarning: unable to find torch.distributed._all_gather_base. will fall back to torch.distributed.all_gather",
]
