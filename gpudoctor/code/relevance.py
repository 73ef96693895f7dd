"""Whether a file holds anything that a check of scripts goes by; any other is parsed and left."""

import functools
import re

import ahocorasick_rs

WORDS = re.compile(
    r"import torch\.distributed|from torch\.distributed|from torch import[^\n]*\b(?:distributed|load|save)\b"
    r"|torch\.distributed\.[a-z_]+\(|torch\.distributed\.launch|init_process_group|[Dd]ata_?[Pp]arallel|DataLoader"
    r"|Sampler\b|[Ff]ully_?[Ss]hard|FSDP|multiprocessing|local_rank|LOCAL_RANK|local-rank|MASTER_|WORLD_SIZE"
    r"|CUDA_VISIBLE|(?:import|from) (?:pytorch_)?(?:lightning|accelerate|deepspeed|horovod|transformers)"
    r"|GradScaler|autocast\(|torch\.(?:load|save)\(|\.backward\(|\.cuda\(|cuda:[\d{]|map_location|device_map"
    r"|device_count|set_device\(|weights_only|\.load_state_dict\(|(?i:softmax)\(|import [^\n]*(?i:softmax)"
    r"|self\.\w+ = torch\.[a-z]\w*\(|NCCL_\w+_(?:DISABLE|ENABLE)"
)
"""A file without any of these words holds nothing that a check of scripts looks for. None goes beyond its line."""
PARTS = (
    "torch.distributed|from torch import|init_process_group|data_parallel|dataparallel|dataloader|sampler|fullyshard"
    "|fully_shard|fsdp|multiprocessing|local_rank|local-rank|master_|world_size|cuda_visible|lightning|accelerate"
    "|deepspeed|horovod|transformers|gradscaler|autocast(|torch.load(|torch.save(|.backward(|.cuda(|cuda:"
    "|map_location|device_map|device_count|set_device(|weights_only|.load_state_dict(|softmax| = torch.|nccl_"
).split("|")
"""Texts of which each match of `WORDS` holds one, in small letters."""


def relevant(text: str) -> bool:
    """Return whether a source holds one of `WORDS`.

    The pattern takes 40 ns for a character, which is a tenth of the time of a file that is left. So all of `PARTS` are
    found at once, and only their lines are looked at. In other alphabets small letters may be longer.
    """
    if not text.isascii():
        return WORDS.search(text) is not None
    end = -1
    for _, first, _ in _parts().find_matches_as_indexes(text.lower()):
        if first > end:
            end = text.find("\n", first)
            end = end if end >= 0 else len(text)
            if WORDS.search(text, text.rfind("\n", 0, first) + 1, end):
                return True
    return False


@functools.cache
def _parts() -> ahocorasick_rs.AhoCorasick:
    return ahocorasick_rs.AhoCorasick(PARTS, implementation=ahocorasick_rs.Implementation.DFA)
