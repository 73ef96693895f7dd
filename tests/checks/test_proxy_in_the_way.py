"""proxy-in-the-way: in logs and before the training."""

from typing import Any

from gpudoctor.facts import Host, Listener, Proxies, Proxy, Sockets
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

MESSAGE = "an HTTP proxy is in the way"
EXAMPLES = {
    (
        "requests.exceptions.ProxyError: HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded with url: "
        "/x (Caused by ProxyError('Unable to connect to proxy', NewConnectionError(\"HTTPSConnection(host='127.0.0.1', "
        'port=1): Failed to establish a new connection: [Errno 111] Connection refused")))'
    ): f"{MESSAGE} to huggingface.co: Unable to connect to proxy",
    "(Caused by ProxyError('Cannot connect to proxy.', timeout('timed out')))": f"{MESSAGE}: Cannot connect to proxy",
    "httpx.ProxyError: 407 Proxy Authentication Required": f"{MESSAGE}: 407 Proxy Authentication Required",
    "urllib.error.HTTPError: HTTP Error 407: Proxy Authentication Required": (
        f"{MESSAGE}: 407: Proxy Authentication Required"
    ),
    "httpcore.ProxyError: 403 Forbidden": f"{MESSAGE}: 403 Forbidden",
    "OSError: Tunnel connection failed: 403 Forbidden": f"{MESSAGE}: 403 Forbidden",
    "ERROR 407: HTTP/1.1 407 Proxy Authentication Required": f"{MESSAGE}: 407 Proxy Authentication Required",
    "curl: (5) Could not resolve proxy: proxy.site.example": f"{MESSAGE}: Could not resolve proxy: proxy.site.example",
    "curl: (56) Received HTTP code 403 from proxy after CONNECT": (
        f"{MESSAGE}: Received HTTP code 403 from proxy after CONNECT"
    ),
    "wandb: Network error: Failed to connect to proxy": f"{MESSAGE}: Failed to connect to proxy",
    "E0602 http_proxy.cc:96] 'http_proxy': 'https' scheme not supported in proxy URI": (
        f"{MESSAGE}: scheme not supported in proxy URI"
    ),
}
NOT_THIS = [
    "[Proxy Service 3] Failed to execute operation Setup from rank 3",
    "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='huggingface.co', port=443): Read timed out.",
    "INFO using proxy http://proxy:3128",
]

CHECK = Registry().check("proxy-in-the-way")
PROXY = Proxy(variable="http_proxy", host="proxy.example", port=3128)
HERE = Proxy(variable="http_proxy", host="127.0.0.1", port=7890, local=True)
SOCKETS = Sockets(listeners=[Listener(port=22)])


def run(**facts: Any) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def test_a_proxy_that_is_not_there() -> None:
    gone = Proxy(variable="https_proxy", host="proxy.example", error="Name or service not known")
    result, [finding] = run(proxies=Proxies(all=[gone]))
    assert result.status is CheckStatus.FOUND
    assert finding.severity is Severity.WARNING
    assert "proxy.example does not resolve (Name or service not known)" in finding.message


def test_a_proxy_that_only_downloads_would_use_is_a_note() -> None:
    gone = Proxy(variable="https_proxy", host="proxy.example", error="Name or service not known")
    for bypassed, severity in (
        ({"localhost": True, "master": True}, Severity.NOTE),
        ({"localhost": True}, Severity.NOTE),
        ({"localhost": True, "master": False}, Severity.WARNING),
        ({"localhost": False}, Severity.WARNING),
    ):
        _, [finding] = run(proxies=Proxies(all=[gone], bypassed=bypassed))
        assert finding.severity is severity


def test_a_proxy_of_this_machine_without_a_listener() -> None:
    proxies = Proxies(all=[HERE], bypassed={"localhost": True})
    _, [finding] = run(proxies=proxies, sockets=SOCKETS)
    assert "nothing listens on port 7890 of this machine" in finding.message
    assert run(proxies=proxies, sockets=SOCKETS, host=Host(wsl=True))[1] == []
    assert run(proxies=proxies)[1] == []
    assert run(proxies=proxies, sockets=Sockets(listeners=[Listener(port=7890)]))[1] == []


def test_localhost_and_master_go_to_the_proxy() -> None:
    _, [finding] = run(proxies=Proxies(all=[PROXY], bypassed={"localhost": False}))
    assert finding.severity is Severity.WARNING
    _, [finding] = run(proxies=Proxies(all=[PROXY], bypassed={"localhost": True, "master": False}))
    assert finding.severity is Severity.NOTE


def test_passes() -> None:
    assert run(proxies=Proxies())[0].status is CheckStatus.PASSED
    assert run(proxies=Proxies(all=[PROXY], bypassed={"localhost": True}))[0].status is CheckStatus.PASSED


def test_unknown() -> None:
    assert run()[0].reason == "proxies: not in this report"
