"""torch-shadowed: seen in logs."""

EXAMPLES = [
    "ModuleNotFoundError: No module named 'torch.nn'; 'torch' is not a package",
    "[rank1]: ModuleNotFoundError: No module named 'torch.distributed.elastic'; 'torch' is not a package",
    "ModuleNotFoundError: No module named 'torch._C'; 'torch' is not a package",
    "ModuleNotFoundError: No module named 'logging.handlers'; 'logging' is not a package",
    "AttributeError: module 'torch' has no attribute 'tensor' (consider renaming '/data/proj/torch.py' if it has the same name as a third-party module you intended to import)",
    "AttributeError: module 'random' has no attribute 'randint' (consider renaming '/data/proj/random.py' since it has the same name as the standard library module named 'random' and the import system gives it precedence)",
    "AttributeError: module 'secrets' has no attribute 'token_hex' (consider renaming '/data/proj/secrets.py' since it has the same name as the standard library module named 'secrets' and prevents importing that standard library module)",
    "AttributeError: partially initialized module 'torch' has no attribute 'tensor' (most likely due to a circular import)",
    "AttributeError: partially initialized module 'random' has no attribute 'Random' (most likely due to a circular import)",
    "ImportError: cannot import name 'Random' from 'random' (/data/proj/random.py)",
    "ImportError: cannot import name 'randint' from partially initialized module 'random' (most likely due to a circular import) (/data/proj/random.py)",
    "ImportError: cannot import name 'Queue' from 'queue' (C:\\work\\proj\\queue.py)",
    "ImportError: cannot import name 'nn' from 'torch' (/data/proj/torch.py)",
    "ImportError: cannot import name 'load_dataset' from 'datasets' (/data/proj/datasets/__init__.py)",
    "ImportError: cannot import name 'Tensor' from 'torch' (unknown location)",
    "ImportError: cannot import name 'load_dataset' from 'datasets' (unknown location)",
    "AttributeError: module 'torch' has no attribute 'zeros'",
    "AttributeError: module 'torch' has no attribute '__version__'",
    "AttributeError: module 'wandb' has no attribute 'init'",
    "AttributeError: module 'random' has no attribute 'seed'",
    "AttributeError: module 'logging' has no attribute 'getLogger'",
    "AttributeError: module 'platform' has no attribute 'system'",
    "AttributeError: module 'enum' has no attribute 'IntFlag'",
    "ImportError: cannot import name 'stack' from partially initialized module 'torch' (most likely due to a circular import)",
    "ImportError: cannot import name 'Random' from 'random' (/env/lib/python3.7/site-packages/torch/random.py)",
    "    from random import Random as _Random\nImportError: cannot import name 'Random'",
]
NOT_THIS = [
    "Traceback (most recent call last):\n  File \"/env/lib/python3.10/site-packages/torch/__init__.py\", line 778, in <module>\n    _C._initExtension(manager_path())\nAttributeError: partially initialized module 'torch' has no attribute 'UntypedStorage' (most likely due to a circular import)",
    "AttributeError: module 'torch' has no attribute 'compiler'",
    "ModuleNotFoundError: No module named 'torch._six'",
    "ImportError: cannot import name 'Mapping' from 'collections' (/usr/lib/python3.10/collections/__init__.py)",
    "ImportError: cannot import name 'Self' from 'typing' (/opt/conda/lib/python3.10/typing.py)",
    "ImportError: cannot import name 'LRScheduler' from 'torch.optim.lr_scheduler' (/opt/conda/lib/python3.10/site-packages/torch/optim/lr_scheduler.py)",
    "ImportError: cannot import name 'AutoModel' from 'transformers' (/data/transformers/src/transformers/__init__.py)",
    "ImportError: cannot import name 'log' from 'datasets' (C:\\envs\\a\\Lib\\site-packages\\datasets\\__init__.py)",
    "ImportError: cannot import name 'build' from partially initialized module 'models' (most likely due to a circular import) (/data/proj/models.py)",
    "AttributeError: partially initialized module 'torchvision' has no attribute 'extension' (most likely due to a circular import)",
    "ModuleNotFoundError: No module named 'torch'",
]
SAYS = {
    EXAMPLES[0]: "Python imported something else under the name torch, which hides the real module",
    EXAMPLES[5]: "Python imported something else: /data/proj/random.py, which hides the real module",
    EXAMPLES[
        9
    ]: "Python imported something else under the name random: /data/proj/random.py, which hides the real module",
}
