"""state-dict-prefix: seen in logs; no fact of the environment shows it."""

from gpudoctor.logs.symptoms import matches
from gpudoctor.registry import Registry

CHECK = Registry().check("state-dict-prefix")
EXAMPLES = [
    '\tUnexpected key(s) in state_dict: "module.conv1.weight", "module.bn1.weight", "module.bn1.bias". ',
    '\tMissing key(s) in state_dict: "module.conv1.weight", "module.bn1.weight", "module.bn1.bias". ',
    '        Unexpected key(s) in state_dict: "_orig_mod.conv1.weight", "_orig_mod.bn1.weight". ',
    "_IncompatibleKeys(missing_keys=['conv1.weight'], unexpected_keys=['module.conv1.weight'])",
    "KeyError: 'unexpected key \"module.base_model.conv1.weight\" in state_dict'",
    "KeyError: 'missing keys in state_dict: \"{'module.conv1.weight', 'module.fc.bias'}\"'",
    "KeyError: 'module.conv1.weight'",
    (
        "Some weights of the model checkpoint at ./out were not used when initializing "
        "BertModel: ['module.embeddings.weight']"
    ),
    "unexpected key in source state_dict: module.backbone.conv1.weight",
    (
        'RuntimeError: Error(s) in loading state_dict for ResNet:\n\tMissing key(s) in state_dict: "conv1.weight", '
        '"bn1.weight". \n\tUnexpected key(s) in state_dict: "net.conv1.weight", "net.bn1.weight". '
    ),
    (
        '[rank2]: \tMissing key(s) in state_dict: "model.encoder.norm.weight". \n'
        '[rank2]: \tUnexpected key(s) in state_dict: "encoder.norm.weight", "head.bias". '
    ),
    (
        "Some weights of BertModel were not initialized from the model checkpoint at ./out and are newly initialized: "
        "['module.embeddings.weight']"
    ),
    "Weights from pretrained model not used in BertForMaskedLM: ['module.bert.embeddings.word_embeddings.weight']",
    (
        "The model and loaded state dict do not match exactly\n\nunexpected key in source state_dict: "
        "backbone.conv1.weight, backbone.bn1.weight\n\nmissing keys in source state_dict: conv1.weight, bn1.weight"
    ),
    (
        "WARNING [10/02 13:10:01 fvcore.common.checkpoint]: The checkpoint state_dict contains keys that are not used by "
        "the model:\n  _orig_mod.backbone.stem.conv1.weight"
    ),
]
NOT_THIS = [
    '\tMissing key(s) in state_dict: "conv1.weight", "bn1.weight". ',
    '\tUnexpected key(s) in state_dict: "embeddings.position_ids". ',
    '\tUnexpected key(s) in state_dict: "backbone.module.conv1.weight". ',
    (
        "\tsize mismatch for module.fc.weight: copying a param with shape torch.Size([1000, "
        "512]) from checkpoint"
    ),
    "KeyError: 'module'",
    "_IncompatibleKeys(missing_keys=['module.head.weight'], unexpected_keys=['module.fc.weight'])",
    "The checkpoint state_dict contains keys that are not used by the model:\n  fc1000.{bias, weight}",
    "unexpected key in source state_dict: fc.weight, fc.bias",
    "KeyError: 'model.conv1.weight'",
]
SAYS = {
    EXAMPLES[
        2
    ]: "keys bear _orig_mod. on one side alone: the model was wrapped when it was saved or is when it is loaded",
}


def test_the_prefix_is_quoted():
    assert [matches(line, [CHECK])[0].sighting.groups["prefix"] for line in EXAMPLES[:3]] == [
        "module",
        "module",
        "_orig_mod",
    ]


def test_any_other_prefix_is_quoted():
    said = [matches(text, [CHECK])[0].sighting.groups["prefix"] for text in EXAMPLES[9:11]]
    assert said == ["net", "model"]


def test_no_fact_of_the_environment_shows_it():
    assert CHECK.environment_function is None
    assert all(fix.command for fix in CHECK.fixes)
