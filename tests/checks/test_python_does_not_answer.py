"""python-does-not-answer: the interpreter that was asked kept silent."""

from gpudoctor.facts import Launch, Python, Silence
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("python-does-not-answer")
MESSAGE = (
    "Python does not find its own standard library: PYTHONHOME names another Python, or its files are gone"
)
EXAMPLES = {
    "Fatal Python error: init_fs_encoding: failed to get the Python codec of the filesystem encoding": MESSAGE,
    "ModuleNotFoundError: No module named 'encodings'": MESSAGE,
    "ImportError: No module named encodings": MESSAGE,
}
NOT_THIS = [
    "ModuleNotFoundError: No module named 'encodings_of_mine'",
    "Fatal Python error: Segmentation fault",
]


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def test_found_with_how_it_ended_and_what_it_wrote():
    silence = Silence(executable="/nfs/env/bin/python", how="killed by SIGSEGV", said="bad library")
    result, [finding] = run(silence=silence)
    assert result.status is CheckStatus.FOUND
    assert finding.severity is Severity.ERROR
    assert finding.message == "/nfs/env/bin/python: killed by SIGSEGV; so nothing is known of its torch"
    assert [(e.text, e.where) for e in finding.evidence] == [("bad library", "standard error")]


def test_the_fixes_name_the_interpreter_as_a_shell_reads_it():
    _, [finding] = run(silence=Silence(executable="/home/me/my env/bin/python", how="no answer in 15 s"))
    assert finding.evidence == []
    assert [fix.command for fix in finding.fixes[:2]] == [
        "'/home/me/my env/bin/python' -S -c 'print(1)'",
        "timeout 10 ls -lL \"$(dirname '/home/me/my env/bin/python')\"",
    ]


def test_a_home_that_is_none_is_named():
    silence = Silence(executable="/usr/bin/python3", how="exit status 1")
    _, [finding] = run(silence=silence, launch=Launch(variables={"PYTHONHOME": "/opt/old"}))
    assert "PYTHONHOME is /opt/old" in finding.message
    assert finding.fixes[0].command == "unset PYTHONHOME"


def test_passes_where_it_answered():
    result, _ = run(python=Python(executable="/usr/bin/python3", version="3.11.7"))
    assert result.status is CheckStatus.PASSED


def test_unknown_where_nobody_asked():
    result, _ = run()
    assert result.status is CheckStatus.UNKNOWN
    assert result.reason == "python: not in this report"
