"""Rules for packets that come in: as iptables and nftables print them, and in a namespace of their own."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from gpudoctor.facts import Filter, Firewall, Rule
from gpudoctor.probes.firewall import from_iptables, from_nft, probe

PROBE = [sys.executable, "-m", "gpudoctor.probes", "gpudoctor.probes.firewall"]
UFW = """-P INPUT DROP
-P FORWARD DROP
-P OUTPUT ACCEPT
-N DOCKER
-N ufw-before-input
-N ufw-user-input
-A INPUT -i lo -j ACCEPT
-A INPUT -j ufw-before-input
-A INPUT -j ufw-user-input
-A FORWARD -j DOCKER
-A DOCKER -d 172.17.0.2/32 ! -i docker0 -o docker0 -p tcp -m tcp --dport 80 -j ACCEPT
-A ufw-before-input -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A ufw-before-input -p icmp -m icmp --icmp-type 8 -j ACCEPT
-A ufw-before-input -p udp -m udp --sport 67 --dport 68 -j ACCEPT
-A ufw-user-input -p tcp -m tcp --dport 22 -j ACCEPT
-A ufw-user-input -p tcp -m multiport --dports 29500:29510,8080 -m comment --comment "the job's ports" -j ACCEPT
-A ufw-user-input -s 10.0.0.0/8 -p tcp -m tcp --dport 6000 -j ACCEPT
"""


@pytest.mark.parametrize(
    ("port", "answer"),
    [(22, True), (29505, True), (8080, True), (29511, False), (6000, None), (45000, False)],
)
def test_ufws_chains_are_followed(port: int, answer: bool | None) -> None:
    filter, _ = from_iptables(UFW, "iptables")
    assert filter.lets_in(port, ["eth0"]) is answer


@pytest.mark.parametrize(
    ("rules", "answer"),
    [
        ("", True),
        ("-A INPUT -p tcp -m tcp --dport 29500 -j DROP", False),
        ("-A INPUT -p tcp -m tcp --dport 29500 -j REJECT --reject-with tcp-reset", False),
        ("-A INPUT -p tcp -m tcp --dport 29501 -j DROP", True),
        ("-A INPUT -p udp -m udp --dport 29500 -j DROP", True),
        ("-A INPUT -i eth0 -p tcp -m tcp --dport 29500 -j DROP", False),
        ("-A INPUT -i docker0 -j DROP", True),
        ("-A INPUT -i lo -j DROP", True),
        ("-A INPUT ! -i lo -p tcp -m tcp --dport 1024:65535 -j DROP", False),
        ("-A INPUT -m state --state INVALID -j DROP", True),
        ("-A INPUT -s 10.0.0.0/8 -j ACCEPT\n-A INPUT -j DROP", None),
        ("-A INPUT ! -s 10.0.0.0/8 -j DROP", None),
        ("-A INPUT -j LOG\n-A INPUT -j DROP", False),
        ("-A INPUT -p tcp -m tcp --tcp-flags FIN,SYN,RST,ACK SYN -j REJECT", None),
        ("-A INPUT -p tcp -m tcp --dport 29500 -j ACCEPT\n-A INPUT -j DROP", True),
        ("-A INPUT -j mine\n-A mine -p tcp -m tcp --dport 22 -j RETURN\n-A mine -j DROP", False),
        ("-A INPUT -j mine\n-A mine -j RETURN\n-A mine -j DROP", True),
        ("-A INPUT -m set --match-set bad src -j mine\n-A mine -j DROP", None),
        ("-A INPUT -j mine\n-A mine -j mine", True),
    ],
)
def test_what_becomes_of_a_connection_to_the_port(rules: str, answer: bool | None) -> None:
    filter, _ = from_iptables(f"-P INPUT ACCEPT\n{rules}", "iptables")
    assert filter.lets_in(29500, ["eth0"]) is answer


@pytest.mark.parametrize(
    ("rules", "stopped"),
    [
        ("", False),
        ("-A INPUT -i lo -p tcp -m tcp --dport 29500 -j DROP", True),
        ("-A INPUT -p tcp -m tcp --dport 29500 -j REJECT", True),
        ("-A OUTPUT -o lo -p tcp -m tcp --dport 29500 -j DROP", True),
        ("-A OUTPUT -p tcp -m tcp --dport 29500 -j DROP", True),
        ("-P INPUT DROP", True),
        ("-P INPUT DROP\n-A INPUT -i lo -j ACCEPT", False),
        ("-A INPUT -i lo -j ACCEPT\n-A INPUT -p tcp -m tcp --dport 29500 -j DROP", False),
        ("-A INPUT ! -i lo -p tcp -m tcp --dport 29500 -j DROP", False),
        ("-A OUTPUT ! -o lo -j DROP", False),
        ("-A INPUT -i eth0 -j DROP", False),
        (
            "-A INPUT -i lo -s 127.0.0.0/8 -j DROP",
            False,
        ),  # by the address: which one the ranks take is not known
    ],
)
def test_what_a_machine_sends_to_itself(rules: str, stopped: bool) -> None:
    read = Firewall(filters=from_iptables(rules, "iptables"), loopback=True)
    assert (read.stops_own(29500) is not None) is stopped
    assert msgspec.structs.replace(read, loopback=False).stops_own(29500) is None


def test_what_may_not_leave() -> None:
    read = Firewall(filters=from_iptables("-A OUTPUT -p tcp -m tcp --dport 29500 -j DROP", "iptables"))
    assert read.stops(29500, ["eth0"]) is None
    assert read.stops_going_out(29500, ["eth0"]) is not None
    assert read.stops_going_out(29501, ["eth0"]) is None


def nft(*expressions: list[dict[str, object]], policy: str = "accept") -> list[Filter]:
    chain = {
        "family": "inet",
        "table": "mine",
        "name": "in",
        "type": "filter",
        "hook": "input",
        "policy": policy,
    }
    rules = [{"rule": {"family": "inet", "table": "mine", "chain": "in", "expr": e}} for e in expressions]
    return from_nft(json.dumps({"nftables": [{"metainfo": {}}, {"chain": chain}, *rules]}))


def port(right: object, op: str = "==") -> dict[str, object]:
    return {"match": {"op": op, "left": {"payload": {"protocol": "tcp", "field": "dport"}}, "right": right}}


def test_nftables_own_language() -> None:
    known = {"match": {"op": "in", "left": {"ct": {"key": "state"}}, "right": ["established", "related"]}}
    loopback = {"match": {"op": "==", "left": {"meta": {"key": "iifname"}}, "right": "lo"}}
    near = {
        "match": {"op": "==", "left": {"payload": {"protocol": "ip", "field": "saddr"}}, "right": "10.0.0.1"}
    }
    some = {"set": [22, {"range": [29500, 29510]}]}
    [filter] = nft(
        [known, {"accept": None}],
        [loopback, {"accept": None}],
        [{"counter": {"packets": 0}}, port(some), {"accept": None}],
        [near, port(80), {"accept": None}],
        policy="drop",
    )
    answers = [filter.lets_in(number, ["eth0"]) for number in (22, 29505, 80, 40000)]
    assert answers == [True, True, None, False]
    assert Firewall(filters=[filter], loopback=True).stops_own(40000) is None
    elsewhere = {"match": {"op": "!=", "left": {"meta": {"key": "iifname"}}, "right": "lo"}}
    [filter] = nft([elsewhere, {"drop": None}])
    assert (filter.lets_in(29500, ["eth0"]), filter.lets_in(29500, ["lo"])) == (False, True)
    assert nft([port(29500), {"reject": None}])[0].lets_in(29500) is False
    assert nft([port(29500, "!="), {"drop": None}])[0].lets_in(29500) is None


def test_a_table_that_asks_for_the_family_is_read_for_ipv4() -> None:
    six = {"match": {"op": "==", "left": {"meta": {"key": "nfproto"}}, "right": "ipv6"}}
    for rules, family in (([[six, {"accept": None}]], 4), ([], None)):
        [filter] = nft(*rules, policy="drop")
        assert filter.family == family
        assert Firewall(filters=[filter]).stops(29500, ["eth0"]) is not None
        assert (Firewall(filters=[filter]).stops(29500, ["eth0"], 6) is None) == (family == 4)


def test_what_is_no_list_of_rules_is_none() -> None:
    assert from_nft("") == []
    assert from_nft('{"nftables": []}') == []


def test_the_services_show_without_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpudoctor.probes.firewall._ask", lambda command, root: None)
    assert probe(tmp_path) == Firewall()
    (tmp_path / "etc/ufw").mkdir(parents=True)
    (tmp_path / "etc/ufw/ufw.conf").write_text("# ufw\nENABLED=yes\nLOGLEVEL=low\n")
    service = tmp_path / "sys/fs/cgroup/system.slice/firewalld.service"
    service.mkdir(parents=True)
    (service / "cgroup.procs").write_text("812\n")
    assert probe(tmp_path) == Firewall(ufw=True, firewalld=True)


def test_a_namespace_of_its_own() -> None:
    if shutil.which("unshare") is None or shutil.which("iptables") is None:
        pytest.skip("needs unshare (util-linux) and iptables")
    rule = "-A INPUT -p tcp -j DROP --dport"
    script = f'iptables {rule} 29500 && ip6tables {rule} 29502 && echo ready && exec "$@"'
    command = ["unshare", "-n", "sh", "-c", script, "x", *PROBE]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if "ready" not in answer.stdout:
        pytest.skip(f"needs a network namespace (root): {answer.stderr.strip()}")
    told = next(line for line in answer.stdout.splitlines() if line.startswith("gpudoctor "))
    found = msgspec.convert(json.loads(told.removeprefix("gpudoctor "))["facts"], Firewall)
    stopped = found.stops(29500, ["eth0"])
    assert stopped is not None
    assert stopped.chains["INPUT"] == [Rule(target="drop", ports=[(29500, 29500)])]
    assert found.stops(29501, ["eth0"]) is None
    assert found.stops(29502, ["eth0"]) is None
    assert found.stops(29502, ["eth0"], 6) is not None
    assert found.stops(29500, ["eth0"], 6) is None
