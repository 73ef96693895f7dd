"""Proxies: their hosts alone, and what no_proxy keeps from them."""

import msgspec
import pytest

from gpudoctor.facts import Proxies, Proxy
from gpudoctor.probes.proxies import bypasses, proxy, read
from gpudoctor.redact.report import private
from gpudoctor.report import Report


def test_names_and_passwords_are_never_kept() -> None:
    facts = read({"http_proxy": "http://ada:geheim@127.0.0.1:3128", "no_proxy": "localhost"}, "node1")
    [found] = facts.all
    assert (found.variable, found.scheme, found.host, found.port) == ("http_proxy", "http", "127.0.0.1", 3128)
    assert found.credentials
    assert found.local
    assert found.error is None
    text = msgspec.json.encode(facts).decode()
    assert "ada" not in text
    assert "geheim" not in text


def test_a_proxys_host_is_private_in_a_report() -> None:
    found = Proxies(all=[Proxy(variable="http_proxy", host="proxy.site-7.example", port=3128)])
    assert "proxy.site-7.example" in private(Report(facts={"proxies": found})).hosts


def test_both_spellings_and_an_address_without_a_scheme() -> None:
    facts = read(
        {"HTTPS_PROXY": "127.0.0.1:8080", "all_proxy": "socks5h://127.0.0.1:1080", "GRPC_PROXY": " "}, "n"
    )
    assert [(p.variable, p.scheme, p.port) for p in facts.all] == [
        ("HTTPS_PROXY", "", 8080),
        ("all_proxy", "socks5h", 1080),
    ]


def test_a_proxy_whose_name_does_not_resolve() -> None:
    found = proxy("http_proxy", "http://proxy.invalid:3128")
    assert found.host == "proxy.invalid"
    assert found.error
    assert not found.local


@pytest.mark.parametrize("value", ["http://", "http://[::1", "http://proxy:port"])
def test_what_is_no_address_has_no_host(value: str) -> None:
    assert proxy("http_proxy", value).host == ""


def test_without_a_proxy_nothing_is_asked() -> None:
    facts = read({"no_proxy": "localhost"}, "node1")
    assert (facts.all, facts.bypassed) == ([], {})


@pytest.mark.parametrize(
    ("left_out", "host", "answer"),
    [
        ("", "localhost", False),
        ("*", "node1", True),
        ("localhost,127.0.0.1", "localhost", True),
        ("127.0.0.1", "localhost", True),
        (".example.com", "node1.example.com", True),
        ("example.com", "node1.example.com", True),
        ("example.com", "badexample.com", False),
        ("*.example.com", "node1.example.com", True),
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.1.2.3", False),
        ("node1 node2", "node2", True),
        ("NODE1", "node1", True),
        ("node", "node1", False),
    ],
)
def test_what_no_proxy_names(left_out: str, host: str, answer: bool) -> None:
    assert bypasses(left_out, host) is answer


def test_the_hosts_of_a_training_are_asked_for() -> None:
    environment = {"http_proxy": "http://127.0.0.1:1", "no_proxy": "localhost,node1", "MASTER_ADDR": "node2"}
    assert read(environment, "node1").bypassed == {"localhost": True, "own": True, "master": False}
