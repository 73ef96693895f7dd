"""An incomplete entry of the catalogue is impossible: every check has all of its parts."""

import ast
import functools
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudoctor.literals import Finder, literals
from gpudoctor.logs.placeholders import PLACE
from gpudoctor.logs.symptoms import Seen, finder, first_seen, matches
from gpudoctor.model import FAMILIES, UNRECOGNISED, Check, Source
from gpudoctor.proving.scripts import HEADER
from gpudoctor.registry import Registry
from tests.check_files import its_tests
from tests.processor_time import within

ROOT = Path(__file__).parent.parent
REGISTRY = Registry()
KNOWN = {check.id: check for check in REGISTRY.checks()}
SECTIONS = ["What happens", "Why", "How to tell", "See also"]
NOT_WRITTEN_YET = 3
"""How many checks wait for a reproduction that a script could be. This number only shrinks."""
LINK = r"\[[^\]]+\]\(https?://[^\s)]+\)"
NEEDS = re.compile(
    r"torch|torchvision|\d+ GPUs?(?: or simulated ones)?|no NVIDIA driver|CPU build of torch|CUDA build of torch"
    r"|root|Linux|namespaces|control groups|unshare|mount|setsid|ip|gcc|g\+\+|ninja|nvcc|slurmctld|slurmd|munged"
)


@functools.cache
def find() -> Finder:
    """Return the finder of all literals, as the patterns themselves say."""
    return finder(KNOWN.values())


def examples(check: Check) -> dict[str, str]:
    """Return the texts that show a check's failure, each with the message that its finding has."""
    return getattr(its_tests(check.id), "EXAMPLES", {})


@functools.cache
def seen_in(text: str) -> list[Seen]:
    """Return what all checks see in a text; not what follows from a failure that shows in the very same line."""
    seen = first_seen(text, find(), KNOWN.get)
    shown = {(one.place, one.check.id) for one in seen}
    return [
        x for x in seen if not (x.check.secondary and any((x.place, id) in shown for id in x.check.follows))
    ]


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


PARTS: list[Callable[[Check], None]] = []
"""What every check is asked, each a function that asserts it."""


def part(asked: Callable[[Check], None]) -> Callable[[Check], None]:
    """Take a function among `PARTS`; one test for each check asks all: three thousand tests are slow to schedule."""
    PARTS.append(asked)
    return asked


@part
def has_a_kebab_case_id_in_a_known_family(check):
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", check.id)
    assert check.family in FAMILIES


@part
def has_a_page_with_all_sections_in_order(check):
    assert re.findall(r"^## (.+)$", check.page, re.MULTILINE) == SECTIONS
    for section in re.split(r"^## .+$", check.page, flags=re.MULTILINE)[1:]:
        assert len(section.strip()) > 40
    assert 10 < len(check.title) <= 80
    assert not check.title.endswith(".")


@part
def says_of_each_link_what_it_shows(check):
    shown = re.split(r"^## See also$", check.page, flags=re.MULTILINE)[1].strip().removeprefix("- ")
    for line in shown.split("\n- "):
        words = re.fullmatch(rf"{LINK}(?:,? and {LINK})*: .{{7,}}", " ".join(line.split()))
        assert words, f"no words after the link, or no link: {line}"


@part
def says_when_it_matters_more_or_less(check):
    """Where its code gives a finding a severity of its own, the index says when."""
    tree = ast.parse(inspect.getsource(sys.modules[REGISTRY.modules[check.id][0]]))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    found = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "found"]
    varies = any(keyword.arg == "severity" for call in found for keyword in call.keywords)
    assert not varies or check.otherwise, "otherwise=... is missing"


@part
def has_fixes_and_mitigations_come_last(check):
    kinds = [fix.kind.value for fix in check.fixes]
    assert kinds, "a failure without a fix"
    mitigations = [kind == "mitigation" for kind in kinds]
    assert mitigations == sorted(mitigations)


@part
def follows_checks_that_there_are(check):
    assert check.follows <= KNOWN.keys() - {check.id}


@part
def is_seen_in_some_kind_of_evidence(check):
    seen = check.symptoms or check.functions.keys() & {Source.ENVIRONMENT, Source.CHECKPOINT, Source.CODE}
    assert seen or check.id == UNRECOGNISED


@part
def every_symptom_has_an_example(check):
    for symptom in check.symptoms:
        alone = Check(severity=check.severity, symptoms=[symptom])
        assert any(matches(text, [alone]) for text in examples(check)), (
            f"no example shows {symptom.pattern!r}"
        )


@part
def every_example_matches_this_check_and_no_other(check):
    for text in examples(check):
        assert [seen.check.id for seen in seen_in(text)] == [check.id], text


@part
def every_symptom_holds_a_literal_that_can_be_searched_for(check):
    for symptom in check.symptoms:
        assert literals(symptom.pattern)


@part
def says_what_the_examples_show(check):
    assert {text: said(seen_in(text)[0]) for text in examples(check)} == examples(check)


@part
def the_places_in_its_words_are_groups_of_its_symptoms(check):
    groups = {g for s in check.symptoms for p in (s.pattern, s.near) for g in re.compile(p).groupindex}
    words = [check.message, *(f"{fix.summary} {fix.command}" for fix in check.fixes)]
    assert {place for text in words for place in PLACE.findall(text)} <= groups
    if check.symptoms:
        assert any(not PLACE.search(f"{fix.summary} {fix.command}") for fix in check.fixes)
        assert check.message or Source.LOG in check.functions, "a log finding needs words"


@part
def near_misses_do_not_match(check):
    for text in getattr(its_tests(check.id), "NOT_THIS", []):
        assert check.id not in [seen.check.id for seen in seen_in(text)], text


@part
def has_a_generated_page_in_the_documentation(check):
    assert (ROOT / "docs/checks" / f"{check.id}.md").exists()


@part
def has_a_reproduction_or_says_why_not(check):
    assert (REGISTRY.reproduction(check.id) is None) == bool(check.no_reproduction)


@part
def its_reproduction_is_two_plain_scripts_with_a_header(check):
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


@pytest.mark.parametrize("check", [pytest.param(check, id=id) for id, check in sorted(KNOWN.items())])
def test_every_check_has_all_of_its_parts(check):
    for asked in PARTS:
        asked(check)


def test_pattern_of_every_symptom_is_linear_on_a_bomb():
    """A line of 4,000 characters, the most that is searched, costs a pattern next to nothing."""

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
                with within(1.0, f"{check.id}: {pattern} on {bomb[:30]}"):
                    compiled.search(bomb)


MARKED = [
    pytest.param(check.id, text, id=f"{check.id}-{number}")
    for check in REGISTRY.checks()
    for number, text in enumerate(examples(check))
    if "`" in text
]


@pytest.mark.parametrize(("id", "text"), MARKED)
def test_an_error_whose_marks_an_issue_tracker_took_away_is_seen(id, text):
    assert id in {seen.check.id for seen in first_seen(text.replace("`", ""), find(), KNOWN.get)}


@pytest.mark.parametrize(
    ("text", "id"),
    [
        ("多机多卡集群训练RendezvousTimeoutError()", "rendezvous-incomplete"),
        ("训练时出错RuntimeError: CUDA error: invalid device ordinal怎么办", "cuda-visible-devices"),
        ("**RuntimeError: CUDA error: device-side assert triggered**", "device-side-assert"),
        ("`ModuleNotFoundError: No module named 'einops'`", "module-missing"),
    ],
)
def test_an_error_that_other_letters_or_marks_stand_beside_is_seen(text, id):
    assert id in {seen.check.id for seen in first_seen(text, find(), KNOWN.get)}


@pytest.mark.parametrize("check", [pytest.param(check, id=id) for id, check in sorted(KNOWN.items())])
def test_without_a_log_no_fix_names_what_a_symptom_catches(check):
    caught = {f"<{name}>" for symptom in check.symptoms for name in re.compile(symptom.pattern).groupindex}
    texts = [fix.summary + fix.command for fix in check.found("").fixes]
    assert not [text for text in texts if any(place in text for place in caught)]
