"""stray-ranks: ranks without a launcher."""

from gpudoctor.facts import Gpu, GpuProcess, Gpus, Launch, Listener, Process, Processes, Sockets
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("stray-ranks")


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def rank(pid=7, **more):
    return Process(pid=pid, name="python", rank="3", parent=1, parent_name="systemd", same_user=True, **more)


def test_found_with_what_it_holds():
    facts = {
        "processes": Processes(ranks=[rank(orphaned=True, devices=["/dev/nvidia3"])]),
        "gpus": Gpus(devices=[Gpu(index=0, processes=[GpuProcess(pid=7)]), Gpu(index=3, processes=[])]),
        "sockets": Sockets(listeners=[Listener(port=29500, pid=7)]),
    }
    _, [finding] = run(**facts)
    assert finding.severity is Severity.WARNING
    assert "(python (pid 7), rank 3), and holds GPU 0, 3 and port 29500" in finding.message
    assert finding.fixes[-1].command == "kill 7; sleep 5; kill -9 7"


def test_an_error_where_it_holds_the_port_of_this_launch():
    facts = {
        "processes": Processes(ranks=[rank(orphaned=True)]),
        "sockets": Sockets(listeners=[Listener(port=29500, pid=7)]),
    }
    for number, severity in (("0", Severity.ERROR), ("1", Severity.WARNING)):
        _, [finding] = run(**facts, launch=Launch(variables={"MASTER_PORT": "29500", "RANK": number}))
        assert finding.severity is severity


def test_nobody_elses_is_offered_for_killing():
    foreign = Process(pid=9, name="python", rank="0", orphaned=True)
    _, [finding] = run(processes=Processes(ranks=[foreign]))
    assert not [fix for fix in finding.fixes if "kill" in fix.command]


def test_passes():
    ranks = [rank(), rank(8, orphaned=True, own=True)]
    assert run(processes=Processes(ranks=ranks))[0].status is CheckStatus.PASSED


def test_unknown():
    assert run()[0].status is CheckStatus.UNKNOWN
