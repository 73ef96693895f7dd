"""An incomplete entry of the catalogue is impossible: every check has all of its parts."""

import ast
import functools
import inspect
import re
import sys
from pathlib import Path

import pytest

from gpudoctor.literals import literals
from gpudoctor.logs.placeholders import PLACE
from gpudoctor.logs.symptoms import Seen, finder, first_seen, matches
from gpudoctor.model import FAMILIES, UNRECOGNISED, Check, Source
from gpudoctor.registry import Registry
from gpudoctor.scripts import HEADER
from tests.check_files import its_tests

ROOT = Path(__file__).parent.parent
REGISTRY = Registry()
KNOWN = {check.id: check for check in REGISTRY.checks()}
FIND = finder(KNOWN.values())
SECTIONS = ["What happens", "Why", "How to tell", "See also"]
NOT_WRITTEN_YET = 8
"""How many checks wait for a reproduction that a script could be. This number only shrinks."""
NEEDS = re.compile(
    r"torch|torchvision|\d+ GPUs?(?: or simulated ones)?|no NVIDIA driver|CPU build of torch|CUDA build of torch"
    r"|root|Linux|namespaces|control groups|unshare|mount|setsid|ip|gcc|g\+\+|ninja|slurmctld|slurmd|munged"
)


def examples(check: Check) -> dict[str, str]:
    """Return the texts that show a check's failure, each with the message that its finding has."""
    return getattr(its_tests(check.id), "EXAMPLES", {})


@functools.cache
def seen_in(text: str) -> list[Seen]:
    """Return what all checks see in a text."""
    return first_seen(text, FIND, KNOWN.get)


def said(seen: Seen) -> str:
    """Return the message of what was seen, as `explain` gives it."""
    return seen.finding.message


def test_the_fourteen_failures_of_the_skeleton_are_known():
    assert KNOWN.keys() >= {
        "torch-missing", "torch-import-broken", "torch-cpu-build", "torchvision-mismatch", "driver-not-loaded",
        "nccl-not-built", "cuda-visible-devices", "port-in-use", "rendezvous-env-missing", "hostname-resolution",
        "shm-too-small", "dp-not-on-device0", "device-mismatch", "state-dict-prefix",
    }  # fmt: skip


def test_every_module_of_the_check_packages_loads():
    assert list(KNOWN) == list(REGISTRY.modules)
    assert REGISTRY.failed == []


def test_every_reproduction_belongs_to_a_check():
    folders = {path.parent.name for path in ROOT.glob("checks/reproductions/*/*.py")}
    assert folders <= KNOWN.keys()


def test_ever_fewer_reproductions_are_not_written_yet():
    waiting = [check.id for check in KNOWN.values() if check.no_reproduction == "not written yet"]
    assert len(waiting) <= NOT_WRITTEN_YET


@pytest.mark.parametrize("check", [pytest.param(check, id=id) for id, check in sorted(KNOWN.items())])
class TestEveryCheck:
    def test_has_a_kebab_case_id_in_a_known_family(self, check):
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", check.id)
        assert check.family in FAMILIES

    def test_has_a_page_with_all_sections_in_order(self, check):
        assert re.findall(r"^## (.+)$", check.page, re.MULTILINE) == SECTIONS
        for section in re.split(r"^## .+$", check.page, flags=re.MULTILINE)[1:]:
            assert len(section.strip()) > 40
        assert 10 < len(check.title) <= 80
        assert not check.title.endswith(".")

    def test_says_when_it_matters_more_or_less(self, check):
        """Where its code gives a finding a severity of its own, the index says when."""
        tree = ast.parse(inspect.getsource(sys.modules[REGISTRY.modules[check.id][0]]))
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        found = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "found"]
        varies = any(keyword.arg == "severity" for call in found for keyword in call.keywords)
        assert not varies or check.otherwise, "otherwise=... is missing"

    def test_has_fixes_and_mitigations_come_last(self, check):
        kinds = [fix.kind.value for fix in check.fixes]
        assert kinds, "a failure without a fix"
        mitigations = [kind == "mitigation" for kind in kinds]
        assert mitigations == sorted(mitigations)

    def test_follows_checks_that_there_are(self, check):
        assert check.follows <= KNOWN.keys() - {check.id}

    def test_is_seen_in_some_kind_of_evidence(self, check):
        seen = check.symptoms or check.functions.keys() & {Source.ENVIRONMENT, Source.CHECKPOINT, Source.CODE}
        assert seen or check.id == UNRECOGNISED

    def test_every_symptom_has_an_example(self, check):
        for symptom in check.symptoms:
            alone = Check(severity=check.severity, symptoms=[symptom])
            assert any(matches(text, [alone]) for text in examples(check)), (
                f"no example shows {symptom.pattern!r}"
            )

    def test_every_example_matches_this_check_and_no_other(self, check):
        for text in examples(check):
            assert [seen.check.id for seen in seen_in(text)] == [check.id], text

    def test_every_symptom_holds_a_literal_that_can_be_searched_for(self, check):
        for symptom in check.symptoms:
            assert literals(symptom.pattern)

    def test_says_what_the_examples_show(self, check):
        assert {text: said(seen_in(text)[0]) for text in examples(check)} == examples(check)

    def test_the_places_in_its_words_are_groups_of_its_symptoms(self, check):
        groups = {g for s in check.symptoms for p in (s.pattern, s.near) for g in re.compile(p).groupindex}
        words = [check.message, *(f"{fix.summary} {fix.command}" for fix in check.fixes)]
        assert {place for text in words for place in PLACE.findall(text)} <= groups
        if check.symptoms:
            assert any(not PLACE.search(f"{fix.summary} {fix.command}") for fix in check.fixes)
            assert check.message or Source.LOG in check.functions, "a log finding needs words"

    def test_near_misses_do_not_match(self, check):
        for text in getattr(its_tests(check.id), "NOT_THIS", []):
            assert check.id not in [seen.check.id for seen in seen_in(text)], text

    def test_has_a_generated_page_in_the_documentation(self, check):
        assert (ROOT / "docs/checks" / f"{check.id}.md").exists()

    def test_has_a_reproduction_or_says_why_not(self, check):
        assert (REGISTRY.reproduction(check.id) is None) == bool(check.no_reproduction)

    def test_its_reproduction_is_two_plain_scripts_with_a_header(self, check):
        folder = REGISTRY.reproduction(check.id)
        if folder is None:
            return
        assert sorted(path.name for path in folder.glob("*.py")) == ["broken.py", "fixed.py"]
        for path in folder.glob("*.py"):
            text = path.read_text()
            ast.parse(text, feature_version=(3, 8))
            headers = HEADER.findall(text)
            alone = text.replace(f" gpudoctor check --only {check.id}\n", "\n")
            assert "gpudoctor" not in alone, "a reproduction must stand alone"
            assert [key for key, _ in headers].count("run") == 1
            for key, value in headers:
                assert key != "run" or path.name in value, value
                assert key != "needs" or NEEDS.fullmatch(value), value


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
    for check in KNOWN.values():
        for pattern in (p for s in check.symptoms for p in (s.pattern, s.near, s.unless) if p):
            compiled = re.compile(pattern)
            for bomb in bombs:
                begun = time.perf_counter()
                compiled.search(bomb)
                assert time.perf_counter() - begun < 1.0, (check.id, pattern, bomb[:30])
