"""dp-missing-attribute: seen in logs."""

EXAMPLES = [
    "AttributeError: 'DataParallel' object has no attribute 'config'",
    "torch.nn.modules.module.ModuleAttributeError: 'DataParallel' object has no attribute 'encode'",
    "[rank0]: AttributeError: 'DistributedDataParallel' object has no attribute 'generate'",
    "AttributeError: 'FullyShardedDataParallel' object has no attribute 'lm_head'. Did you mean: 'forward'?",
    "AttributeError: 'DeepSpeedEngine' object has no attribute 'save_pretrained'",
    "AttributeError: 'OptimizedModule' object has no attribute 'fc'",
    "AttributeError: 'MMDistributedDataParallel' object has no attribute 'show_result'",
    "AttributeError: 'ResNet' object has no attribute 'module'",
]
NOT_THIS = [
    "AttributeError: 'DistributedDataParallel' object has no attribute '_sync_params'",
    "AttributeError: 'DistributedDataParallel' object has no attribute 'require_forward_param_sync'",
    "AttributeError: 'NoneType' object has no attribute 'module'",
    "AttributeError: module 'torch' has no attribute 'compile'",
    "AttributeError: 'Net' object has no attribute 'modules_to_save'",
]
SAYS = {
    EXAMPLES[0]: "DataParallel does not pass on config: ask the model inside, at .module",
    EXAMPLES[7]: "ResNet is not wrapped, so it has no .module",
}
