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

from gpudoctor import Check, Fix, Severity, Symptom

REASON = (
    r"(?P<reason>Name or service not known|Temporary failure in name resolution|No address associated with hostname|"
    r"nodename nor servname provided[\w ,]{0,20}|getaddrinfo failed|Network is unreachable|No route to host|"
    r"Connection timed out|[Tt]he (?:read|handshake) operation timed out|timed out)"
)
# A server on this machine, or the rendezvous, is no download.
HOST = r"(?P<host>(?!localhost|127\.|10\.|192\.168\.)[\w.-]+\.[a-z]\w+)"
WEB = r"urllib|http[./\\]client|requests[./\\]|httpx|httpcore|huggingface|torch[./\\]hub\.py|botocore|aiohttp|https?://"

check = Check(
    severity=Severity.ERROR,
    follows=["proxy-in-the-way"],
    symptoms=[
        r"[Ww]e couldn't connect to '?(?:https?://)?(?P<host>[\w.-]+)[^ ]{0,40} to load",
        r"cannot find the requested files in the (?:local cache|disk cache|cached path)",
        r"outgoing traffic has been disabled",
        r"Cannot reach (?:https?://)?(?P<host>[\w.-]+)\S{0,200}: (?P<reason>offline mode is enabled)",
        r"Couldn't reach https?://(?P<host>[\w.-]+)",  # datasets; "Couldn't reach 'NAME' on the Hub" is dataset-missing
        rf"Local entry not found\. (?:\[Errno -?\d+\] )?{REASON}",  # the hf command
        rf"<urlopen error (?:\[Errno -?\d+\] )?_?(?:ssl\.c:\d+: )?{REASON}",
        rf"host='{HOST}', port=\d+\): (?:Max retries exceeded|Read timed out)(?!.{{0,600}}(?:ProxyError|CERTIFICATE))",
        rf"Failed to resolve '{HOST}'(?!.{{0,400}}ProxyError)",
        rf"(?:httpcore|httpx)\w{{0,2}}\.Connect(?:Error|Timeout): (?:\[Errno -?\d+\] )?{REASON}",
        rf"Could not resolve host: {HOST}",  # curl, git
        rf"Failed to connect to {HOST} port 443",
        rf"Could not connect to the endpoint URL: \"https?://{HOST}",  # boto
        Symptom(
            rf"socket\.gaierror: \[Errno -?\d+\] {REASON}",
            near=WEB,
            unless=r"torch[./\\]distributed|MASTER_ADDR|init_process_group",
        ),
    ],
    message="this process could not download[ from <host>][: <reason>]; mostly a compute node has no way to the internet",
    fixes=[
        Fix(
            "On a login node: fill a cache that the job sees too (older: huggingface-cli download)",
            "HF_HOME=/shared/FOLDER hf download REPOSITORY",
        ),
        Fix("In the job: use that cache, and ask nobody", "export HF_HOME=/shared/FOLDER HF_HUB_OFFLINE=1"),
        Fix(
            "For torchvision and torch.hub: the same with TORCH_HOME, by running the line that downloads on a login node",
            "TORCH_HOME=/shared/FOLDER python -c \"import torchvision; torchvision.models.resnet18(weights='DEFAULT')\"",
        ),
        Fix(
            "Where the site has a proxy for compute nodes (its documentation says so)",
            "export https_proxy=http://PROXY:PORT",
        ),
        Fix("For Weights & Biases: log to files, and send them later with `wandb sync`", "export WANDB_MODE=offline"),
    ],
    no_reproduction="not written yet",
)  # fmt: skip
