"""An HTTP proxy is between this process and what it wants to reach.

## What happens

"ProxyError('Unable to connect to proxy', …)", "Tunnel connection failed: 403 Forbidden", "407 Proxy Authentication
Required" when something is downloaded. Or a service of the training's own (etcd, Ray, a metrics or vLLM server on
another node) cannot be reached, although `ping` finds the node. torch's own store and NCCL do not use proxies.

## Why

Programs that speak HTTP or gRPC send everything to `http_proxy` and `https_proxy`, except for what `no_proxy` names.

| the words | what it means |
|---|---|
| Unable to connect to proxy, Cannot connect to proxy | the proxy is not there: it was set for another network, or the node does not reach it |
| 403 Forbidden | the proxy does not allow this address |
| 407 Proxy Authentication Required | it wants a name and a password: `http://NAME:PASSWORD@PROXY:PORT` |
| 502, 503, 504 for a node of the job | a connection inside the cluster went to the proxy: `no_proxy` lacks the node |
| CERTIFICATE_VERIFY_FAILED, self-signed certificate | the proxy opens encrypted connections, and Python does not know its certificate |

## How to tell

`env | grep -i proxy` in the job. `curl -v https://huggingface.co 2>&1 | head` shows whether a proxy was used. Without
it, `env -u https_proxy -u HTTPS_PROXY curl -I https://huggingface.co` shows whether one is needed at all.

## See also

- [requests: proxies](https://requests.readthedocs.io/en/latest/user/advanced/#proxies): http_proxy, https_proxy, no_proxy
- [gRPC's variables](https://grpc.github.io/grpc/core/md_doc_environment_variables.html): http_proxy, no_grpc_proxy
- [ray#23865](https://github.com/ray-project/ray/issues/23865): Ray behind a proxy
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Host, Proxies, Proxy, Sockets

BYPASS = Fix(
    "Keep connections inside the job from the proxy: name every node",
    "export no_proxy=localhost,127.0.0.1,NODE,.DOMAIN NO_PROXY=localhost,127.0.0.1,NODE,.DOMAIN",
    proof="NO_PROXY=",
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning or a note before anything failed",
    symptoms=[
        r"(?:host='(?P<host>[\w.-]+)', port=\d+\).{0,400})?ProxyError\(['\"](?P<reason>[\w ]{4,80}?)\.?['\"]",
        r"\bProxyError: (?P<reason>\d{3} [A-Z][\w ]{2,60})",
        r"Tunnel connection failed: (?P<reason>\d{3} [A-Z][\w ]{2,60})",
        r"(?P<reason>407:? Proxy Authentication Required)",
        r"(?P<reason>Could not resolve proxy: \S{1,80})",
        r"(?P<reason>Received HTTP code \d{3} from proxy after CONNECT)",
        r"(?P<reason>Failed to connect to proxy|Cannot connect to proxy\b(?!['\"]))",
        r"https?_proxy.{0,80}(?P<reason>scheme not supported in proxy URI)",
    ],
    message="an HTTP proxy is in the way[ to <host>][: <reason>]",
    fixes=[
        Fix("See what is set in the job", "env | grep -i proxy"),
        Fix(
            "Where no proxy is needed: do without it",
            "unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY",
        ),
        BYPASS,
        Fix(
            "Where one is needed: the address that the site's documentation gives for compute nodes",
            "export https_proxy=http://PROXY:PORT http_proxy=http://PROXY:PORT",
        ),
        Fix(
            "For a proxy with a certificate of its own: ask the administrators for it",
            "export REQUESTS_CA_BUNDLE=FILE SSL_CERT_FILE=FILE",
        ),
        Fix("Ask for this address to be allowed by the proxy, with the time of an attempt", kind=Kind.ADMIN),
    ],
)


@check.environment
def environment(proxies: Proxies, sockets: Sockets | None, host: Host | None) -> Iterator[Finding]:
    """A proxy is set that cannot work, or that catches what stays on this machine."""
    told: set[tuple[str, str]] = set()
    # What stays on the nodes goes past it: downloads alone need it, and a training may need none.
    aside = proxies.bypassed.get("localhost") is True and proxies.bypassed.get("master") is not False
    for proxy in proxies.all:
        wrong = _dead(proxy, sockets, host)
        if wrong and (proxy.host, wrong) not in told:
            told.add((proxy.host, wrong))
            message = f"{proxy.variable} names a proxy that cannot be used: {wrong}"
            yield check.found(message, severity=Severity.NOTE if aside and proxy.error else Severity.WARNING)
    if told or not proxies.for_plain_http:
        return
    first = proxies.for_plain_http[0].variable
    if proxies.bypassed.get("localhost") is False:
        message = (
            f"{first} is set, and no_proxy does not name localhost: connections of this machine to itself over HTTP or gRPC go "
            "to the proxy (torch's own store and NCCL use none)"
        )
        yield check.found(message, severity=Severity.WARNING, fixes=[BYPASS])
    elif proxies.bypassed.get("master") is False:
        message = (
            f"{first} is set, and no_proxy does not name MASTER_ADDR: what speaks HTTP or gRPC to that node goes to the proxy "
            "(torch's own store and NCCL use none)"
        )
        yield check.found(message, severity=Severity.NOTE, fixes=[BYPASS])


def _dead(proxy: Proxy, sockets: Sockets | None, host: Host | None) -> str:
    """Return why a proxy cannot answer; empty: nothing says so."""
    if not proxy.host:
        return "its value is no address"
    if proxy.error:
        return f"{proxy.host} does not resolve ({proxy.error})"
    # WSL hands connections to localhost on to Windows, whose listeners do not show here.
    if not proxy.local or sockets is None or (host and host.wsl) or proxy.port is None:
        return ""
    return "" if sockets.listener(proxy.port) else f"nothing listens on port {proxy.port} of this machine"
