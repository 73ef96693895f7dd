"""A download fails, because this machine has no way to the internet.

## What happens

"We couldn't connect to 'https://huggingface.co' to load this file", "urlopen error [Errno -2] Name or service not
known", "Max retries exceeded with url", "Could not resolve host: github.com". The training has not begun; it asked for
weights, a tokenizer, a data set or a package.

## Why

| the words end in | what it means |
|---|---|
| Name or service not known, Temporary failure in name resolution | no DNS for outside names: a compute node without internet |
| Network is unreachable, No route to host | no route to the outside |
| timed out | a firewall drops the packets |
| Connection refused | a proxy is set and does not answer (see `proxy-in-the-way`), or a firewall turns everything away |
| HTTP 429, 403, 500, 503 | the server was reached: too many requests, a download that is closed to scripts, or it is down |
| outgoing traffic has been disabled, offline mode is enabled | HF_HUB_OFFLINE=1 or `local_files_only=True`, and the file is not in the cache |

On most clusters only the login nodes have internet. The cache that was filled there is not found where HF_HOME,
TORCH_HOME or the home folder is another one in the job, or where the revision or the file name differs.

## How to tell

In the job: `curl -sSI https://huggingface.co | head -1`. If it prints nothing but an error here and a line with 200 on
the login node, the compute nodes have no internet. `echo $HF_HOME $HF_HUB_OFFLINE $https_proxy`, and `hf cache ls` (older:
`huggingface-cli scan-cache`) lists what is in the cache. With a proxy, see `proxy-in-the-way`.

## See also

- [Offline mode of transformers](https://huggingface.co/docs/transformers/installation#offline-mode): download first, then load from the cache
- [HF_HUB_OFFLINE](https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables#hfhuboffline): only files that are in the cache
- [torch.hub](https://docs.pytorch.org/docs/stable/hub.html#where-are-my-downloaded-models-saved): where TORCH_HOME is
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Severity, Sighting, Symptom
from gpudoctor.wordings import A_FRAME

REASON = (
    r"(?P<reason>Name or service not known|Temporary failure in name resolution|No address associated with hostname|"
    r"nodename nor servname provided[\w ,]{0,20}|getaddrinfo failed|Network is unreachable|No route to host|"
    r"Connection timed out|[Tt]he (?:read|handshake) operation timed out|timed out)"
)
# A server on this machine, or the rendezvous, is no download.
HOST = r"(?P<host>(?!localhost|127\.|10\.|192\.168\.)[\w.-]+\.[a-z]\w+)"
# What refuses may be a server of one's own; of these it is the way to the outside.
OUTSIDE = r"in https_open|torch[./\\]hub\.py|huggingface_hub|transformers[./\\]utils[./\\]hub"
GOES_ON = re.compile(
    r"\b[Uu]s(?:e|ing) (?:the |a )?(?:cached|local|random|default|existing|offline)|[Ff]all(?:s|ing)? back|[Ss]kipping|"
    r"[Cc]ontinuing (?:with|in)"
)
WEB = r"urllib|http[./\\]client|requests[./\\]|httpx|httpcore|huggingface|torch[./\\]hub\.py|botocore|aiohttp|https?://"

TORCHS = re.compile(r"torch[./\\]hub\.py|torchvision[./\\]|torch\.hub\.")
TORCH_HOME = Fix(
    "For torchvision and torch.hub: run the line that downloads on a login node, with a cache that the job sees too, and "
    "set the same TORCH_HOME in the job",
    "TORCH_HOME=/shared/FOLDER python -c \"import torchvision; torchvision.models.resnet18(weights='DEFAULT')\"",
    filled=(),
)
SITE = Fix(
    "Where the site has a proxy for compute nodes (its documentation says so)",
    "export https_proxy=http://PROXY:PORT",
)

check = Check(
    severity=Severity.ERROR, otherwise="a note where the program goes on with what it has",
    follows=["proxy-in-the-way"],
    symptoms=[
        r"[Ww]e could(?:n't| not) connect to ['\" ]{0,3}(?:https?://)?(?P<host>[\w.-]+)[^ ]{0,40} [Tt]o load",
        r"cannot find the requested files in the (?:local cache|disk cache|cached path)",
        r"outgoing traffic has been disabled",
        r"Cannot reach (?:https?://)?(?P<host>[\w.-]+)\S{0,200}: (?P<reason>offline mode is enabled)",
        # torch.hub
        r"there is no internet connection and the repo could not be found in the cache",
        # datasets
        r"Couldn't reach https?://(?P<host>[\w.-]+)",
        r"Couldn't reach ['\"](?P<repository>[^'\"\n]{1,200})['\"] on the Hub",
        r"Couldn't reach the Hugging Face Hub for dataset ['\"](?P<repository>[^'\"\n]{1,200})['\"]",
        # huggingface_hub, at each attempt; a run that goes on after the last one has found it in the cache
        (rf"(?:{REASON}|Connection reset by peer|Connection refused|\(Request ID: [^()]{{1,80}}\))['\")]{{1,3}} thrown while "
        rf"requesting (?:HEAD|GET|POST) https?://{HOST}"),
        rf"Local entry not found\. (?:\[Errno -?\d+\] )?{REASON}",  # the hf command
        rf"<urlopen error (?:\[Errno -?\d+\] )?_?(?:ssl\.c:\d+: )?{REASON}",
        r"<urlopen error \[SSL: (?P<reason>CERTIFICATE_VERIFY_FAILED)\]",
        # the exception as an object, as a program prints it that gives up
        rf"(?:URLError|NewConnectionError|ConnectError|ClientConnectorError)\([^()]{{0,300}}?(?:\w+\([^()]{{0,40}}?)?['\"](?:\[Errno -?\d+\] )?{REASON}",
        Symptom(
            r"(?:<urlopen error|(?:httpcore|httpx)\w?\.ConnectError:) \[Errno (?:111|61)\] (?P<reason>Connection refused)",
            near=OUTSIDE,
        ),
        rf"host='{HOST}', port=\d+\): (?:Max retries exceeded|Read timed out)(?!.{{0,600}}(?:ProxyError|CERTIFICATE))",
        rf"Failed to resolve '{HOST}'(?!.{{0,400}}ProxyError)",
        rf"(?:httpcore|httpx)\w{{0,2}}\.Connect(?:Error|Timeout): (?:\[Errno -?\d+\] )?{REASON}",
        rf"Could not resolve host: {HOST}",  # curl, git
        rf"Failed to connect to {HOST} port 443",
        # reached, and it hands out nothing now
        r"(?P<status>429|50[0234]) (?:Client|Server) Error: [\w -]{1,40} for url: https?://(?P<host>(?:[\w-]+\.){0,3}(?:huggingface|hf)\.co)",
        Symptom(r"HTTPError: HTTP Error (?P<status>403|429|50[0234]): [A-Z]", near=TORCHS.pattern),
        rf"Could not connect to the endpoint URL: \"https?://{HOST}",  # boto
        Symptom(
            rf"socket\.gaierror: \[Errno -?\d+\] {REASON}",
            near=WEB,
            unless=r"torch[./\\]distributed|MASTER_ADDR|init_process_group",
        ),
        r"cannot find the appropriate snapshot folder for the specified revision on the local disk",
        r"The cached snapshot for .{1,200} is incomplete: .{1,300}Outgoing traffic is disabled",
        r"There was a specific connection error when trying to load (?P<repository>[\w.-]+/[\w.-]+)",
        r"Download failure for \S{1,300}\. (?:Environment may be offline|Retry limit reached)",  # Ultralytics
        r"^\W{0,3}(?:urllib\.error\.)?URLError: <urlopen error (?:\[Errno (?:101|104|110|113)\]|\[WinError 10\d{3}\]|timed out)",
        Symptom(r"SSLCertVerificationError: \[SSL: CERTIFICATE_VERIFY_FAILED\]", unless=A_FRAME),
    ],
    fixes=[
        Fix(
            "On a login node: fill a cache that the job sees too (older: huggingface-cli download)",
            "HF_HOME=/shared/FOLDER hf download REPOSITORY",
        ),
        Fix("In the job: use that cache, and ask nobody", "export HF_HOME=/shared/FOLDER HF_HUB_OFFLINE=1"),
        TORCH_HOME,
        SITE,
        Fix("For Weights & Biases: log to files, and send them later with `wandb sync`", "export WANDB_MODE=offline"),
    ],
)  # fmt: skip
ANSWERED = [
    Fix("See what it answers now, and on another machine", "curl -sSI URL | head -1"),
    Fix(
        "Download once, where it answers, into a folder that the job sees too, and name it to the job by HF_HOME or TORCH_HOME"
    ),
]
REFUSED = [
    Fix(
        "See whether a proxy is set that nothing answers at; and whether one is needed at all",
        "env | grep -i proxy; env -u https_proxy -u HTTPS_PROXY -u all_proxy -u ALL_PROXY curl -sSI https://huggingface.co | "
        "head -1",
    ),
    Fix(
        "Where none is needed: do without it",
        "unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY",
    ),
    SITE,
    Fix(
        "Without internet: download on a login node, into a folder that the job sees too, and name it to the job by HF_HOME "
        "or TORCH_HOME"
    ),
]


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say from where; a program that says what it takes instead has not failed."""
    seen, line = sighting.groups, sighting.line
    if "status" in seen:
        said = f"{seen.get('host', 'the server of the download')} answered with HTTP {seen['status']}: it was reached, and hands nothing out"
        yield check.found(f"{said} to this machine, or to nobody at the moment", fixes=ANSWERED)
        return
    said = "this process could not download"
    if "host" in seen:
        said += f" from {seen['host']}"
    if "repository" in seen:
        said += f" {seen['repository']}"
    refused = "Connection refused" in line
    reason = "Connection refused" if refused else seen.get("reason", "")
    said += f": {reason}" if reason else ""
    said += (
        "; mostly a proxy that does not answer, or a firewall"
        if refused
        else "; mostly a compute node has no way to the internet"
    )
    yield check.found(
        said,
        severity=Severity.NOTE if GOES_ON.search(line) else None,
        fixes=REFUSED if refused else [TORCH_HOME, SITE] if TORCHS.search(sighting.around) else None,
    )
