"""notebook-ddp: seen in logs."""

REST = "; its cells are no script that could be started again"
MESSAGE = f"this launch does not work in a notebook{REST}"
EXAMPLES = {
    (
        "MisconfigurationException: `Trainer(strategy='ddp')` is not compatible with an interactive environment. Run your code "
        "as a script, or choose a notebook-compatible strategy: `Trainer(strategy='ddp_notebook')`."
    ): f"this launch does not work in a notebook: strategy='ddp'{REST}",
    (
        "MisconfigurationException: `Trainer(strategy='ddp_spawn')` or `Trainer(accelerator='ddp_spawn')` is not compatible "
        "with an interactive environment."
    ): f"this launch does not work in a notebook: strategy='ddp_spawn'{REST}",
    (
        "MisconfigurationException: Selected distributed backend ddp is not compatible with an interactive environment. Run "
        "your code as a script"
    ): f"this launch does not work in a notebook: distributed backend ddp{REST}",
    (
        "ValueError: To launch a multi-device training from your notebook, the `Accelerator` should only be initialized inside "
        "your training function. Restart your notebook"
    ): MESSAGE,
    (
        "RuntimeError: CUDA has been initialized before the `notebook_launcher` could create a forked subprocess. This likely "
        "stems from an outside import"
    ): MESSAGE,
    (
        "ValueError: To train on TPU in Colab or Kaggle Kernel, the `Accelerator` should only be initialized inside your "
        "training function."
    ): MESSAGE,
    "AttributeError: Can't get attribute 'train' on <module '__main__' (built-in)>": (
        f"this launch does not work in a notebook: a process that is started anew cannot find train{REST}"
    ),
}
NOT_THIS = [
    "AttributeError: Can't get attribute 'Net' on <module '__main__' from 'load.py'>",
    "Launching training on 2 GPUs.",
    "This pip is not compatible with an interactive shell",
]
