"""state-dict-architecture: seen in logs."""

EXAMPLES = [
    'RuntimeError: Error(s) in loading state_dict for Net:\n\tMissing key(s) in state_dict: "fc.weight". \n'
    '\tUnexpected key(s) in state_dict: "head.weight". ',
    '\tUnexpected key(s) in state_dict: "embeddings.position_ids". ',
    '\tMissing key(s) in state_dict: "module.fc.weight". \n\tUnexpected key(s) in state_dict: "module.head.weight". ',
    "KeyError: 'unexpected key \"fc.weight\" in state_dict'",
    "unexpected key in source state_dict: fc.weight, fc.bias",
]
NOT_THIS = [
    'RuntimeError: Error(s) in loading state_dict for Net:\n\tMissing key(s) in state_dict: "fc.weight". \n'
    '\tUnexpected key(s) in state_dict: "module.fc.weight". ',
    "\tsize mismatch for fc.weight: copying a param with shape torch.Size([1000, 512]) from checkpoint",
]
SAYS = {
    EXAMPLES[
        0
    ]: "the model and the file have different keys, such as fc.weight, and no wrapper's prefix explains it"
}
