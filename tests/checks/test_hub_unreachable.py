"""hub-unreachable: a download without internet, seen in logs."""

from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Severity
from gpudoctor.registry import Registry

CHECK = Registry().check("hub-unreachable")

REST = "; mostly a compute node has no way to the internet"
MESSAGE = f"this process could not download{REST}"
NAME = "this process could not download: Name or service not known" + REST
EXAMPLES = {
    "HfHubHTTPError: 503 Server Error: Service Unavailable for url: https://huggingface.co/api/models/me/net": (
        "huggingface.co answered with HTTP 503: it was reached, and hands nothing out to this machine, or to nobody at the moment"
    ),
    '  File "/env/lib/torchvision/datasets/utils.py", line 41, in _urlretrieve\nurllib.error.HTTPError: HTTP Error 403: Forbidden': (
        "the server of the download answered with HTTP 403: it was reached, and hands nothing out to this machine, or to nobody at the "
        "moment"
    ),
    "RuntimeError: It looks like there is no internet connection and the repo could not be found in the cache (/scratch/hub)": (
        "this process could not download; mostly a compute node has no way to the internet"
    ),
    "urllib.error.URLError: <urlopen error [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self signed certificate>": "this process could not download: CERTIFICATE_VERIFY_FAILED; mostly a compute node has no way to the internet",
    "Could not get it: URLError(gaierror(-2, 'Name or service not known'))": NAME,
    "OSError: We could not connect to ' https://huggingface.co/ To load this file, could not find it in the cached files": f"this process could not download from huggingface.co{REST}",
    (
        "'[Errno -3] Temporary failure in name resolution' thrown while requesting HEAD "
        "https://huggingface.co/bert-base-uncased/resolve/main/config.json"
    ): f"this process could not download from huggingface.co: Temporary failure in name resolution{REST}",
    (
        "'(ReadTimeoutError(\"HTTPSConnectionPool(host='huggingface.co', port=443): Read timed out. (read timeout=10)\"), "
        "'(Request ID: 0f3a)')' thrown while requesting HEAD https://huggingface.co/gpt2/resolve/main/config.json"
    ): f"this process could not download from huggingface.co{REST}",
    "'[Errno 111] Connection refused' thrown while requesting GET https://huggingface.co/api/models/gpt2": (
        "this process could not download from huggingface.co: Connection refused; mostly a proxy that does not answer, or a "
        "firewall"
    ),
    "ConnectionError: Couldn't reach 'me/wiki' on the Hub (LocalEntryNotFoundError)": (
        f"this process could not download me/wiki{REST}"
    ),
    "ConnectionError: Couldn't reach the Hugging Face Hub for dataset 'me/wiki': timed out": (
        f"this process could not download me/wiki{REST}"
    ),
    (
        '  File "/usr/lib/python3.11/urllib/request.py", line 1391, in https_open\n'
        "urllib.error.URLError: <urlopen error [Errno 111] Connection refused>"
    ): (
        "this process could not download: Connection refused; mostly a proxy that does not answer, or a firewall"
    ),
    (
        "OSError: We couldn't connect to 'https://huggingface.co' to load this file, couldn't find it in the cached files and "
        "it looks like bert-base-uncased is not the path to a directory containing a file named config.json."
    ): f"this process could not download from huggingface.co{REST}",
    (
        "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached files."
    ): f"this process could not download from huggingface.co{REST}",
    (
        "huggingface_hub.errors.LocalEntryNotFoundError: An error happened while trying to locate the file on the Hub and we "
        "cannot find the requested files in the local cache. Please check your connection and try again"
    ): MESSAGE,
    "ValueError: Connection error, and we cannot find the requested files in the cached path. Please try again": MESSAGE,
    (
        "LocalEntryNotFoundError: Cannot find the requested files in the disk cache and outgoing traffic has been disabled. "
        "To enable hf.co look-ups and downloads online, set 'local_files_only' to False."
    ): MESSAGE,
    (
        "huggingface_hub.errors.OfflineModeIsEnabled: Cannot reach https://huggingface.co/api/models/gpt2: offline mode is "
        "enabled. To disable it, please unset the `HF_HUB_OFFLINE` environment variable."
    ): f"this process could not download from huggingface.co: offline mode is enabled{REST}",
    "ConnectionError: Couldn't reach https://huggingface.co/datasets/squad/resolve/main/squad.py": (
        f"this process could not download from huggingface.co{REST}"
    ),
    "urllib.error.URLError: <urlopen error [Errno -2] Name or service not known>": NAME,
    "Error: Local entry not found. [Errno -2] Name or service not known": NAME,
    (
        "RuntimeError: Error downloading train-images-idx3-ubyte.gz:\n"
        "Tried https://ossci-datasets.s3.amazonaws.com/mnist/, got:\n"
        "<urlopen error [Errno 101] Network is unreachable>"
    ): f"this process could not download: Network is unreachable{REST}",
    "urllib.error.URLError: <urlopen error _ssl.c:1000: The handshake operation timed out>": (
        f"this process could not download: The handshake operation timed out{REST}"
    ),
    (
        "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded with "
        "url: /x (Caused by NameResolutionError(\"HTTPSConnection(host='huggingface.co', port=443): Failed to resolve "
        "'huggingface.co' ([Errno -2] Name or service not known)\"))"
    ): f"this process could not download from huggingface.co{REST}",
    "urllib3.exceptions.NameResolutionError: HTTPSConnection: Failed to resolve 'api.wandb.ai' ([Errno -3] Temporary": (
        f"this process could not download from api.wandb.ai{REST}"
    ),
    "httpx.ConnectError: [Errno -3] Temporary failure in name resolution": (
        f"this process could not download: Temporary failure in name resolution{REST}"
    ),
    "fatal: unable to access 'https://github.com/NVIDIA/apex/': Could not resolve host: github.com": (
        f"this process could not download from github.com{REST}"
    ),
    "curl: (28) Failed to connect to download.pytorch.org port 443 after 130 ms: Connection timed out": (
        f"this process could not download from download.pytorch.org{REST}"
    ),
    'botocore.exceptions.EndpointConnectionError: Could not connect to the endpoint URL: "https://data.s3.amazonaws.com/a"': (
        f"this process could not download from data.s3.amazonaws.com{REST}"
    ),
    (
        "Traceback (most recent call last):\n"
        '  File "/usr/lib/python3.11/urllib/request.py", line 1348, in do_open\n'
        "    h.request(req.get_method(), req.selector, req.data, headers,\n"
        '  File "/usr/lib/python3.11/socket.py", line 962, in getaddrinfo\n'
        "    for res in _socket.getaddrinfo(host, port, family, type, proto, flags):\n"
        "socket.gaierror: [Errno -2] Name or service not known"
    ): NAME,
    "LocalEntryNotFoundError: we cannot find the appropriate snapshot folder for the specified revision on the local disk.": (
        "this process could not download; mostly a compute node has no way to the internet"
    ),
    "IncompleteSnapshotError: The cached snapshot for 'lab/tower' (revision 'main') is incomplete: 2 file(s) are missing. Outgoing traffic is disabled ('local_files_only=True').": (
        "this process could not download; mostly a compute node has no way to the internet"
    ),
    "OSError: There was a specific connection error when trying to load lab/tower: 503": (
        "this process could not download lab/tower; mostly a compute node has no way to the internet"
    ),
    "ConnectionError: Download failure for https://example.org/w.pt. Environment may be offline.": (
        "this process could not download; mostly a compute node has no way to the internet"
    ),
    "urllib.error.URLError: <urlopen error [Errno 110] Connection timed out>": "this process could not download; mostly a compute node has no way to the internet",
    "ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self signed certificate in certificate chain": "this process could not download; mostly a compute node has no way to the internet",
}
NOT_THIS = [
    "HTTP Error 503 thrown while requesting GET https://huggingface.co/gpt2/resolve/main/config.json",
    "urllib.error.URLError: <urlopen error [Errno 111] Connection refused>",
    "httpx.ConnectError: [Errno 111] Connection refused",
    "requests.exceptions.HTTPError: 404 Client Error: Not Found for url: https://huggingface.co/x/resolve/main/y",
    "HTTPConnectionPool(host='localhost', port=8000): Max retries exceeded with url: /metrics",
    (
        "requests.exceptions.ProxyError: HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded with url: "
        "/x (Caused by ProxyError('Unable to connect to proxy', NewConnectionError('Connection refused')))"
    ),
    "[W socket.cpp:601] [c10d] The IPv4 network addresses of (node-1, 29500) cannot be retrieved (gai error: -2 - Name or service not known).",
]


def test_a_program_that_takes_something_else_has_not_failed():
    line = "We couldn't connect to 'https://huggingface.co' to load the files, using cached weights."
    assert matches(line, [CHECK])[0].finding.severity is Severity.NOTE
