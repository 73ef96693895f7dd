"""state-dict-architecture: seen in logs."""

MESSAGE = "the model and the file have different keys, and no wrapper's prefix explains it"
EXAMPLES = {
    "RuntimeError: Checkpoint at /scratch/run7/step_40 is missing keys: {'decoder.norm.weight'}": (
        "the model and the file have different keys, such as decoder.norm.weight, and no wrapper's prefix explains it"
    ),
    'ar", "stem.conv.bias", "stem.bn.weight", "stem.bn.bias", "he': MESSAGE,
    "RuntimeError: Error(s) in loading state_dict for DataParallel:": (
        "the file does not fit DataParallel: which keys or sizes differ stands below that line, and is not here"
    ),
    (
        'RuntimeError: Error(s) in loading state_dict for Net:\n\tMissing key(s) in state_dict: "fc.weight". \n'
        '\tUnexpected key(s) in state_dict: "head.weight". '
    ): "the model and the file have different keys, such as fc.weight, and no wrapper's prefix explains it",
    '\tUnexpected key(s) in state_dict: "embeddings.position_ids". ': (
        "the model and the file have different keys, such as embeddings.position_ids, and no wrapper's prefix "
        "explains it"
    ),
    '\tMissing key(s) in state_dict: "module.fc.weight". \n\tUnexpected key(s) in state_dict: "module.head.weight". ': (
        "the model and the file have different keys, such as module.fc.weight, and no wrapper's prefix "
        "explains it"
    ),
    '\tMissing key(s) in state_dict: "module.probe.weight". \nE1123 05:20:03 failed (exitcode: 1)': (
        "the model and the file have different keys, such as module.probe.weight, and no wrapper's prefix "
        "explains it"
    ),
    "KeyError: 'unexpected key \"fc.weight\" in state_dict'": (
        "the model and the file have different keys, such as fc.weight, and no wrapper's prefix explains it"
    ),
    (
        "RuntimeError: The model and loaded state dict do not match exactly\n\n"
        "unexpected key in source state_dict: fc.weight, fc.bias\n\nmissing keys in source state_dict: head.weight, head.bias"
    ): "the model and the file have different keys, such as fc.weight, and no wrapper's prefix explains it",
    "[rank1]: RuntimeError: Missing key in checkpoint state_dict: model.layers.3.weight.": (
        "the model and the file have different keys, such as model.layers.3.weight, and no wrapper's prefix "
        "explains it"
    ),
    "    model.load_state_dict(torch.load(path)['state_dict'])\nKeyError: 'state_dict'": (
        "the model and the file have different keys, such as 'state_dict', and no wrapper's prefix explains it"
    ),
    '  File "/data/eval.py", line 31, in main\n    model.load_state_dict(checkpoint["net"])\nKeyError: \'net\'': (
        "the model and the file have different keys, such as 'net', and no wrapper's prefix explains it"
    ),
    "TypeError: Expected state_dict to be dict-like, got <class '__main__.Net'>.": MESSAGE,
    "AttributeError: 'collections.OrderedDict' object has no attribute 'eval'": MESSAGE,
    "AttributeError: 'dict' object has no attribute 'parameters'": MESSAGE,
    (
        "KeyError: 'Trying to restore optimizer state but checkpoint contains only the model. This is probably due to "
        "`ModelCheckpoint.save_weights_only` being set to `True`.'"
    ): MESSAGE,
    "KeyError: 'pytorch-lightning_version'": (
        "the model and the file have different keys, such as 'pytorch-lightning_version', and no wrapper's "
        "prefix explains it"
    ),
    (
        "ValueError: Cannot load <class 'diffusers.models.unet_2d_condition.UNet2DConditionModel'> from /data/sd because the "
        "following keys are missing: "
    ): MESSAGE,
    "Exception: Cannot load model parameters from checkpoint /data/last.pt; please ensure that the architectures match.": MESSAGE,
    (
        '[rank0]: \tMissing key(s) in state_dict: "encoder.layers.0.attn.qkv.weight", "encoder.norm.weight". \n'
        '[rank0]: \tUnexpected key(s) in state_dict: "encoder.blocks.0.attn.qkv.weight", "encoder.norm.gamma". '
    ): (
        "the model and the file have different keys, such as encoder.layers.0.attn.qkv.weight, and no "
        "wrapper's prefix explains it"
    ),
    'RuntimeError: Error(s) in loading state_dict for DataParallel:\n\tUnexpected key(s) in state_dict: "module.encoder.bn1.num_batches_tracked", "module.encoder.layer1.0.bn1.num_batches_tracked"': (
        "the model and the file have different keys, such as module.encoder.bn1.num_batches_tracked, and no "
        "wrapper's prefix explains it"
    ),
    'RuntimeError: Error(s) in loading state_dict for DataParallel: Missing key(s) in state_dict: "module.conv1.weight", "module.bn1.weight",\nUnexpected key(s) in state_dict: "state_dict".': (
        "the model and the file have different keys, such as module.conv1.weight, and no wrapper's prefix "
        "explains it"
    ),
    'RuntimeError: Error(s) in loading state_dict for Tower Missing key(s): "stem.weight", "stem.bias".': (
        "the model and the file have different keys, such as stem.weight, and no wrapper's prefix explains it"
    ),
    "KeyError: \"The model contains a key 'stem.weight' that does not exist in the loaded checkpoint. To disable strict loading\"": (
        "the model and the file have different keys, such as stem.weight, and no wrapper's prefix explains it"
    ),
}
NOT_THIS = [
    (
        'RuntimeError: Error(s) in loading state_dict for Net:\n\tMissing key(s) in state_dict: "fc.weight". \n'
        '\tUnexpected key(s) in state_dict: "module.fc.weight". '
    ),
    (
        'RuntimeError: Error(s) in loading state_dict for Lit:\n\tMissing key(s) in state_dict: "net.fc.weight". \n'
        '\tUnexpected key(s) in state_dict: "fc.weight". '
    ),
    "\tsize mismatch for fc.weight: copying a param with shape torch.Size([1000, 512]) from checkpoint",
    # only printed: a backbone is loaded without its head
    "The model and loaded state dict do not match exactly\n\nunexpected key in source state_dict: fc.weight, fc.bias",
    "Some weights of the model checkpoint at bert were not used when initializing BertModel: ['cls.predictions.bias']",
    "_IncompatibleKeys(missing_keys=['head.weight'], unexpected_keys=['fc.weight'])",
    "<All keys matched successfully>",
    (
        '\tMissing key(s) in state_dict: "head.bias". \n'
        "\tsize mismatch for head.weight: copying a param with shape torch.Size([2, 8]) from checkpoint, the shape in current "
        "model is torch.Size([3, 8])."
    ),
    "    x = batch['model']\nKeyError: 'model'",
    "AttributeError: 'dict' object has no attribute 'shape'",
]
