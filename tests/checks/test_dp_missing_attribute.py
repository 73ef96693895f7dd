"""dp-missing-attribute: seen in logs."""

EXAMPLES = {
    "AttributeError: 'DataParallel' object has no attribute 'config'": (
        "DataParallel does not pass on config: ask the model inside, at .module"
    ),
    "torch.nn.modules.module.ModuleAttributeError: 'DataParallel' object has no attribute 'encode'": (
        "DataParallel does not pass on encode: ask the model inside, at .module"
    ),
    "[rank0]: AttributeError: 'DistributedDataParallel' object has no attribute 'generate'": (
        "DistributedDataParallel does not pass on generate: ask the model inside, at .module"
    ),
    "AttributeError: 'FullyShardedDataParallel' object has no attribute 'lm_head'. Did you mean: 'forward'?": (
        "FullyShardedDataParallel does not pass on lm_head: ask the model inside, at .module"
    ),
    "AttributeError: 'DeepSpeedEngine' object has no attribute 'save_pretrained'": (
        "DeepSpeedEngine does not pass on save_pretrained: ask the model inside, at .module"
    ),
    "AttributeError: 'OptimizedModule' object has no attribute 'fc'": (
        "OptimizedModule does not pass on fc: ask the model inside, at .module"
    ),
    "AttributeError: 'MMDistributedDataParallel' object has no attribute 'show_result'": (
        "MMDistributedDataParallel does not pass on show_result: ask the model inside, at .module"
    ),
    "AttributeError: 'ResNet' object has no attribute 'module'": (
        "ResNet is not wrapped, so it has no .module"
    ),
}
NOT_THIS = [
    "AttributeError: 'DistributedDataParallel' object has no attribute '_sync_params'",
    "AttributeError: 'DistributedDataParallel' object has no attribute 'require_forward_param_sync'",
    "AttributeError: 'NoneType' object has no attribute 'module'",
    "AttributeError: module 'torch' has no attribute 'compile'",
    "AttributeError: 'Net' object has no attribute 'modules_to_save'",
]
