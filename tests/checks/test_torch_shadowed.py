"""torch-shadowed: seen in logs."""

MESSAGE = "Python imported something else under the name torch, which hides the real module"
EXAMPLES = {
    "ModuleNotFoundError: No module named 'torch.nn'; 'torch' is not a package": MESSAGE,
    "[rank1]: ModuleNotFoundError: No module named 'torch.distributed.elastic'; 'torch' is not a package": MESSAGE,
    "ModuleNotFoundError: No module named 'torch._C'; 'torch' is not a package": MESSAGE,
    "ModuleNotFoundError: No module named 'logging.handlers'; 'logging' is not a package": (
        "Python imported something else under the name logging, which hides the real module"
    ),
    "AttributeError: module 'torch' has no attribute 'tensor' (consider renaming '/data/proj/torch.py' if it has the same name as a third-party module you intended to import)": (
        "Python imported something else: /data/proj/torch.py, which hides the real module"
    ),
    "AttributeError: module 'random' has no attribute 'randint' (consider renaming '/data/proj/random.py' since it has the same name as the standard library module named 'random' and the import system gives it precedence)": (
        "Python imported something else: /data/proj/random.py, which hides the real module"
    ),
    "AttributeError: module 'secrets' has no attribute 'token_hex' (consider renaming '/data/proj/secrets.py' since it has the same name as the standard library module named 'secrets' and prevents importing that standard library module)": (
        "Python imported something else: /data/proj/secrets.py, which hides the real module"
    ),
    "AttributeError: partially initialized module 'torch' has no attribute 'tensor' (most likely due to a circular import)": MESSAGE,
    "AttributeError: partially initialized module 'random' has no attribute 'Random' (most likely due to a circular import)": (
        "Python imported something else under the name random, which hides the real module"
    ),
    "ImportError: cannot import name 'Random' from 'random' (/data/proj/random.py)": (
        "Python imported something else under the name random: /data/proj/random.py, which hides the real "
        "module"
    ),
    "ImportError: cannot import name 'randint' from partially initialized module 'random' (most likely due to a circular import) (/data/proj/random.py)": (
        "Python imported something else under the name random: /data/proj/random.py, which hides the real "
        "module"
    ),
    "ImportError: cannot import name 'Queue' from 'queue' (C:\\work\\proj\\queue.py)": (
        "Python imported something else under the name queue: C:\\work\\proj\\queue.py, which hides the real "
        "module"
    ),
    "ImportError: cannot import name 'nn' from 'torch' (/data/proj/torch.py)": (
        "Python imported something else under the name torch: /data/proj/torch.py, which hides the real module"
    ),
    "ImportError: cannot import name 'load_dataset' from 'datasets' (/data/proj/datasets/__init__.py)": (
        "Python imported something else under the name datasets: /data/proj/datasets, which hides the real "
        "module"
    ),
    "ImportError: cannot import name 'Tensor' from 'torch' (unknown location)": MESSAGE,
    "ImportError: cannot import name 'load_dataset' from 'datasets' (unknown location)": (
        "Python imported something else under the name datasets, which hides the real module"
    ),
    "AttributeError: module 'torch' has no attribute 'zeros'": MESSAGE,
    "AttributeError: module 'torch' has no attribute '__version__'": MESSAGE,
    "AttributeError: module 'wandb' has no attribute 'init'": (
        "Python imported something else under the name wandb, which hides the real module"
    ),
    "AttributeError: module 'random' has no attribute 'seed'": (
        "Python imported something else under the name random, which hides the real module"
    ),
    "AttributeError: module 'logging' has no attribute 'getLogger'": (
        "Python imported something else under the name logging, which hides the real module"
    ),
    "AttributeError: module 'platform' has no attribute 'system'": (
        "Python imported something else under the name platform, which hides the real module"
    ),
    "AttributeError: module 'enum' has no attribute 'IntFlag'": (
        "Python imported something else under the name enum, which hides the real module"
    ),
    "ImportError: cannot import name 'stack' from partially initialized module 'torch' (most likely due to a circular import)": MESSAGE,
    "ImportError: cannot import name 'Random' from 'random' (/env/lib/python3.7/site-packages/torch/random.py)": (
        "Python imported something else under the name random: "
        "/env/lib/python3.7/site-packages/torch/random.py, which hides the real module"
    ),
    "    from random import Random as _Random\nImportError: cannot import name 'Random'": (
        "Python imported something else under the name random, which hides the real module"
    ),
}
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
