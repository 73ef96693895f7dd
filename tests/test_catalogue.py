"""An incomplete entry of the catalogue is impossible: every check has all of its parts."""

import ast
import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.literals import literals
from gpudoctor.logs.placeholders import PLACE, filled_message
from gpudoctor.logs.symptoms import finder, first_seen, matches
from gpudoctor.model import FAMILIES, UNRECOGNISED, Check
from gpudoctor.registry import Registry
from gpudoctor.scripts import HEADER

ROOT = Path(__file__).parent.parent
REGISTRY = Registry()
IDS = sorted(REGISTRY.modules)
CHECKS = REGISTRY.checks()
KNOWN = {check.id: check for check in CHECKS}
FIND = finder(CHECKS)
SECTIONS = ["What happens", "Why", "How to tell", "See also"]
NO_REPRODUCTION = frozenset(
    """
    address-family alloc-conf backend-device-mismatch barrier-device-unknown batchnorm-single-sample
    checkpoint-corrupt checkpoint-device-map checkpoint-directory checkpoint-unsafe checkpoint-weights-only
    child-failed child-segfault collective-mismatch container-lost-gpu cublas-failure cuda-driver-too-old
    cuda-fork cuda-init-failed cuda-launch-failure cuda-library-conflict cuda-oom cudnn-failure
    dataloader-worker-killed dataset-download-race dataset-missing ddp-device-ids ddp-grad-strides
    ddp-inplace-buffer ddp-model-mismatch ddp-no-grad ddp-parameter-strides ddp-peer-missing ddp-ready-twice
    ddp-unused-parameters deprecated-dist-api device-map-with-ddp device-side-assert disk-full
    distributed-not-built dp-missing-attribute dp-parameter-list-empty dp-replica-state dp-scalar-gather
    dp-small-batch dp-stop-iteration driver-library-mismatch dtype-mismatch duplicate-hostname embedding-index
    fabric-manager-down fabric-state gloo-device gloo-interface gloo-peer-closed gpu-arch-unsupported gpu-busy
    gpu-ecc-error gpu-fell-off-bus gpu-memory-held gpu-reset-required gpu-throttled gpu-xid host-oom-killed
    illegal-memory-access implicit-softmax-dim inplace-gradient interface-down launch-local-rank loss-not-finite
    mig-multi-gpu mixed-gpus mtu-mismatch nccl-driver-unsupported nccl-duplicate-gpu nccl-infiniband
    nccl-interface nccl-internal nccl-net-plugin nccl-no-gpu nccl-nvls nccl-out-of-memory nccl-p2p
    nccl-remote-exit nccl-timeout nccl-version-mismatch numpy-abi nvlink-down nvlink-errors
    optimizer-parameter-count p2p-corruption peer-mapping-exhausted process-group-leak process-group-twice
    process-group-uninitialized rank-desync reentrant-checkpoint rendezvous-incomplete rendezvous-no-host
    rendezvous-unreachable sampler-shuffle-conflict scheduler-ended-job slurm-env-missing slurm-gpu-binding
    slurm-step-refused slurm-task-mismatch spawn-main-guard spawn-pickle state-dict-architecture
    state-dict-mixed-prefix state-dict-shape syncbn-cpu too-many-open-files torch-shadowed torch-too-old
    unrecognised-error zero3-shapes
    """.split()
)
"""Checks that have no reproduction yet. This list only shrinks."""
NEEDS = re.compile(
    r"torch|torchvision|\d+ GPUs?|no NVIDIA driver|CPU build of torch|CUDA build of torch|root|Linux|unshare|mount"
)


def examples(id: str, name: str = "EXAMPLES") -> Any:
    """What a check's test file lists: texts that show it, near misses, or what the finding says."""
    path = ROOT / "tests/checks" / f"test_{id.replace('-', '_')}.py"
    assert path.exists(), f"{id} has no test file {path}"
    spec = importlib.util.spec_from_file_location(f"examples_{id.replace('-', '_')}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name, [])


def test_the_fourteen_failures_of_the_skeleton_are_known():
    assert set(IDS) >= {
        "torch-missing", "torch-import-broken", "torch-cpu-build", "torchvision-mismatch", "driver-not-loaded",
        "nccl-not-built", "cuda-visible-devices", "port-in-use", "rendezvous-env-missing", "hostname-resolution",
        "shm-too-small", "dp-not-on-device0", "device-mismatch", "state-dict-prefix",
    }  # fmt: skip


def test_every_module_of_the_check_packages_loads():
    registry = Registry()
    assert len(registry.checks()) == len(IDS)
    assert registry.trouble == []


@pytest.mark.parametrize("id", IDS)
class TestEveryCheck:
    def test_has_a_kebab_case_id_in_a_known_family(self, id):
        check = REGISTRY.check(id)
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", id)
        assert check.family in FAMILIES

    def test_has_a_page_with_all_sections_in_order(self, id):
        check = REGISTRY.check(id)
        assert re.findall(r"^## (.+)$", check.page, re.MULTILINE) == SECTIONS
        for section in re.split(r"^## .+$", check.page, flags=re.MULTILINE)[1:]:
            assert len(section.strip()) > 40
        assert 10 < len(check.title) <= 80
        assert not check.title.endswith(".")

    def test_has_fixes_and_mitigations_come_last(self, id):
        kinds = [fix.kind.value for fix in REGISTRY.check(id).fixes]
        assert kinds, "a failure without a fix"
        mitigations = [kind == "mitigation" for kind in kinds]
        assert mitigations == sorted(mitigations)

    def test_is_seen_in_facts_or_in_logs(self, id):
        check = REGISTRY.check(id)
        seen = check.environment_function or check.symptoms or check.checkpoint_function
        assert seen or id == UNRECOGNISED

    def test_every_symptom_has_an_example(self, id):
        check = REGISTRY.check(id)
        for symptom in check.symptoms:
            alone = Check(severity=check.severity, symptoms=[symptom])
            assert any(matches(text, [alone]) for text in examples(id)), (
                f"no example shows {symptom.pattern!r}"
            )

    def test_every_example_matches_this_check_and_no_other(self, id):
        for text in examples(id):
            assert [seen.check.id for seen in first_seen(text, FIND, KNOWN.get)] == [id], text

    def test_every_symptom_holds_a_literal_that_can_be_searched_for(self, id):
        for symptom in REGISTRY.check(id).symptoms:
            assert literals(symptom.pattern)

    def test_says_what_the_examples_show(self, id):
        check, said = REGISTRY.check(id), examples(id, "SAYS") or {}
        for text, expected in said.items():
            (seen,) = matches(text, [check])
            assert filled_message(check, seen.sighting.groups, seen.line.text) == expected
        if "<" in check.message:
            assert said, f"{id}'s message has places: SAYS must show it filled"

    def test_the_places_in_its_words_are_groups_of_its_symptoms(self, id):
        check = REGISTRY.check(id)
        groups = {g for s in check.symptoms for p in (s.pattern, s.near) for g in re.compile(p).groupindex}
        words = [check.message, *(f"{fix.summary} {fix.command}" for fix in check.fixes)]
        assert {place for text in words for place in PLACE.findall(text)} <= groups
        if check.symptoms:
            assert any(not PLACE.search(f"{fix.summary} {fix.command}") for fix in check.fixes)
            assert check.message or check.log_function, "a log finding needs words"

    def test_near_misses_do_not_match(self, id):
        for line in examples(id, "NOT_THIS"):
            assert id not in [seen.check.id for seen in first_seen(line, FIND, KNOWN.get)], line

    def test_has_a_generated_page_in_the_documentation(self, id):
        assert (ROOT / "docs/checks" / f"{id}.md").exists()

    def test_has_a_reproduction_or_a_reason(self, id):
        folder = REGISTRY.reproduction(id)
        assert (folder is None) == (id in NO_REPRODUCTION)

    def test_its_reproduction_is_two_plain_scripts_with_a_header(self, id):
        folder = REGISTRY.reproduction(id)
        if folder is None:
            return
        assert sorted(path.name for path in folder.glob("*.py")) == ["broken.py", "fixed.py"]
        for path in folder.glob("*.py"):
            text = path.read_text()
            ast.parse(text, feature_version=(3, 8))
            assert "gpudoctor" not in text, "a reproduction must stand alone"
            headers = HEADER.findall(text)
            assert [key for key, _ in headers].count("run") == 1
            for key, value in headers:
                assert path.name in value if key == "run" else NEEDS.fullmatch(value), (key, value)


def test_pattern_of_every_symptom_is_linear_on_a_bomb():
    """A line of 4,000 characters, the most that is searched, costs a pattern next to nothing."""
    import time

    bombs = [
        "a" * 4000,
        "(" * 4000,
        " " * 4000,
        "module." * 570,
        '"' * 4000,
        "Expected all tensors " * 190,
        "1" * 4000,
    ]
    bombs += [
        'Missing key(s) in state_dict: "' + "a." * 1900,
        "The server socket has failed to listen on " * 90,
    ]
    for check in REGISTRY.checks():
        for pattern in (p for s in check.symptoms for p in (s.pattern, s.near, s.unless) if p):
            compiled = re.compile(pattern)
            for bomb in bombs:
                begun = time.perf_counter()
                compiled.search(bomb)
                assert time.perf_counter() - begun < 1.0, (check.id, pattern, bomb[:30])
