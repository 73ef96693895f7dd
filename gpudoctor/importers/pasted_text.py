"""A pasted text as it was, without what terminals, logs and issue trackers do to one on its way."""

import html
import re
from collections.abc import Callable, Iterator
from itertools import islice, pairwise

from gpudoctor.text import CONTROL_SEQUENCE

_LINE_END = re.compile(r"\r\n?|\n")
# "> " of a quote, "[rank0]: " of a launcher, "2026-03-04T05:00:01.5Z " of a CI log
_PREFIX = re.compile(
    r"(?:[ \t]*>[ \t]?|\[(?:rank|default)\d{1,5}\]:[ \t]?|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[\d.]{0,12}Z?[ \t])+"
)
_TAG = re.compile(r"</?(?:pre|code|br|p|summary|details|div|span)\b[^<>]{0,80}>", re.IGNORECASE)
_ESCAPED_MARKUP = re.compile(
    r"&lt;/?details&gt;|&quot;schema&quot;|&quot;, line \d|^&gt; |&lt;(?:inactive|[A-Z_,-]{2,100})&gt;",
    re.MULTILINE,
)
_WIDTHS = range(60, 251)
# Copied from a terminal, a line may go on where it was cut behind the blanks that filled the row.
_CUT_WORD = re.compile(r"(?<=[a-z]) {60,}(?=[a-z])|(?<=[A-Z]) {60,}(?=[A-Z][A-Z_])")
_FILLED = re.compile(r"(?<! ) {60,}(?=[A-Z>])")


_NUMBERED_LINE = re.compile(r"[ \t]{0,8}(\d{1,6})(?:[ \t|:.]|$)[ \t|]{0,3}")
_NUMBERED_ENOUGH = 6
_KEY_IN_A_CELL = re.compile(
    r"^[ \t]{0,8}\|[ *`]{0,4}(PyTorch version|CUDA used to build PyTorch|Is CUDA available|GPU models and configuration"
    r"|Nvidia driver version)\b",
    re.IGNORECASE | re.MULTILINE,
)
_KEYS_ENOUGH = 3
_ITEM = re.compile(r"^[ \t]{0,8}[-*] (?=\[(?:pip3?|conda)\] )")
_CELLS = re.compile(
    r"^[ \t]{0,8}\|(?P<key>[^|\n]{0,4000})\|(?:(?P<value>[^|\n]{0,4000})\|)?[ \t]{0,80}$", re.MULTILINE
)
_IN_A_STRING = ("Is debug build", "CUDA used to build", "Is CUDA available")


_SIGNS = (
    "PyTorch version", "Is CUDA available", "CUDA used to", "GPU models and", "Nvidia driver", "[pip", "[conda]",
    "NVIDIA", "NVRM", "NVML", "NCCL", "nvidia_smi_log", "VGA compatible", "3D controller", "mtu ", "/dev/shm",
    "Mem:", "max locked memory", "NodeName=", "JobId=", "Package", "# packages", "==", "Linux ", "Out of memory",
    "torch", "CUDA available", "GPU available", "_RANK=", "WORLD_SIZE=", "CUDA_", "CA '", "Infiniband device",
    "Unable to determine", "GPU0", "gpu0", "--query-gpu", "pci.bus_id", "index, ", ", name", "name, ", "timestamp, ",
    "[MiB]", "NODELIST", "HOSTNAMES", "MiB / ", "available: ", "VISIBLE_DEVICES", "| Processes:", "SHMEM",
    "oom-kill", "group out of memory", "UCX", "Torch", "PCIe Bus Error", "blocked for more than", "soft lockup",
    "segfault at", "mlx5_core", "hca_id:", "NVRM version", "(CUDA order)", "<gpu id=", "CPU(s):", "GPU ", "GPUs",
    "shm_size:", "docker run", "podman run", "singularity ", "apptainer ", "Remapped Rows", "NCCL_", "(kbytes, -l)",
    "Max memory: ", " MB |", "river:", "river version", "Reasons", "FB Memory Usage", "GPU Reset Status", "Inforom",
    "==> ", "n_gids_found", "No IB devices", "node GUID", "Link encap", " UNKNOWN ", "apacity", "OOMKilled",
    "ulimit", "open files ", "Filesystem ", "free -", "node 0 cpus", "NUMA node", "Storage Driver",
    "slurmctld", "No devices were found", "down*", "down$", "drain", "drng", " idle ", "Retired Pages", "MIG Mode",
    "shm", "hared memory", "memlock", "ocked memory", "ibv_", "OrderedDict([", "detectron2", "pytorch  ", "P2P=Enabled",
    "IO_PAGE_FAULT", "MEMLOCK", "Link layer:", "allocate MR", "DCGM_FI_DEV", "stub library",
    "oom_kill ", "ShmSize", "Processing accelerators", "Display controller", "ROCm S", "rocm-smi",
    "AMD-SMI", "amd-smi", "HSA System", "numa_balancing", "governor", "current_clocksource", "Exit Code: ",
    "<defunct>", " PR  NI ", "Physical state:", "ynchroni", "System time ",
    "Cuda compilation tools", "locked-in-memory", "file descriptors", "Restart Count:", "HostConfig",
    "IpcMode", "%CPU", "PPID", "(nvgpu)",
)  # fmt: skip
"""Words of which each text that is known here holds one."""
# Characters. collect_env prints 10,000, nvidia-smi -q of 16 GPUs 300,000; what is further away is no part of it.
_BEFORE, _AFTER = 200_000, 4_000_000
_MOST_LINES = 200_000


def rows(text: str, begins: Callable[[str], bool]) -> tuple[list[str], list[str]]:
    """Return a text's lines around the first words that are known here, as they stand and with wrapped ones joined.

    None is indented. `begins` says which line is none that a terminal cut off from the one above it.
    """
    text = untabled(unnumbered(unescaped(text)))
    first = min((place for sign in _SIGNS if (place := text.find(sign)) >= 0), default=None)
    if first is None:
        return [], []
    window = without_tags(without_filling(text[max(0, first - _BEFORE) : first + _AFTER]))
    pieces = [without_marks(line) for line in islice(lines(window), _MOST_LINES)]
    return [piece.strip() for piece in pieces], [row.strip() for row in unwrapped(pieces, begins)]


def lines(text: str) -> Iterator[str]:
    """Yield a text's lines without quote marks, rank and time prefixes, colours and HTML's escapes.

    Indentation and blanks at the end stay: they may stand inside a string that was wrapped.
    """
    if "\x1b" in text:
        text = CONTROL_SEQUENCE.sub("", text)
    if "&" in text and _ESCAPED_MARKUP.search(text) and "<details>" not in text:
        text = html.unescape(text)
    begin = 0
    for end in _LINE_END.finditer(text):
        yield _unquoted(text[begin : end.start()])
        begin = end.end()
    yield _unquoted(text[begin:])


def unescaped(text: str) -> str:
    r"""Give collect_env's output its line ends back where it is a string of JSON or Python: ``OS: ...\\nIs ...``."""
    if not any(rf"\n{key}" in text or rf"\n> {key}" in text for key in _IN_A_STRING):
        return text
    whole = text.strip()
    text = whole[1:-1] if whole[0] == whole[-1] and whole[0] in "\"'" else text
    return text.replace(r"\r\n", "\n").replace(r"\n", "\n").replace(r"\t", "\t").replace(r"\"", '"')


def unnumbered(text: str) -> str:
    """Take away the numbers of lines that a viewer puts in front of all of them, each one more than the last."""
    begins = text.lstrip("\n")[:12]
    if not begins.lstrip(" \t")[:1].isdecimal():
        return text
    pieces = text.split("\n")
    numbers = [(piece, _NUMBERED_LINE.match(piece)) for piece in pieces if piece.strip()]
    told = [int(match[1]) for _, match in numbers if match is not None]
    if len(told) < max(_NUMBERED_ENOUGH, len(numbers)) or any(
        later != earlier + 1 for earlier, later in pairwise(told)
    ):
        return text
    return "\n".join(_NUMBERED_LINE.sub("", piece, count=1) for piece in pieces)


def untabled(text: str) -> str:
    """Take collect_env's lines out of a table: ``| PyTorch version | 2.1.0 |``, ``| PyTorch version: 2.1.0 |``."""
    if len(set(_KEY_IN_A_CELL.findall(text))) < _KEYS_ENOUGH:
        return text
    return _CELLS.sub(_row, text)


def _row(match: re.Match[str]) -> str:
    key, value = match["key"].strip(" *`"), (match["value"] or "").strip(" `")
    if not key.strip(":- "):
        return ""  # the rule below a table's head
    return key if match["value"] is None else f"{key.rstrip(':')}: {value}"


def _unquoted(line: str) -> str:
    match = _PREFIX.match(line)
    return (line[match.end() :] if match else line).lstrip("\xa0")


def without_tags(text: str) -> str:
    """End a line at each HTML tag that surrounds or breaks lines."""
    return _TAG.sub("\n", text) if "<" in text else text


def without_filling(text: str) -> str:
    """Join words that a terminal's row cut in two, and end a line at the blanks that fill a row; tables keep theirs."""
    if " " * 60 not in text:
        return text
    return "\n".join(
        line if "|" in line or " " * 60 not in line else _FILLED.sub("\n", _CUT_WORD.sub("", line))
        for line in text.split("\n")
    )


def without_marks(line: str) -> str:
    """Remove the marks of inline code and bold; a line without any keeps its indentation.

    Where it was wrapped, that may be a blank at the cut. An entry of collect_env's lists is no item of another list.
    """
    if "[pip" in line or "[conda]" in line:
        line = _ITEM.sub("", line)
    return line.replace("**", "").strip().strip("`") if "`" in line or "**" in line else line


def unwrapped(pieces: list[str], begins: Callable[[str], bool]) -> list[str]:
    """Join lines that a terminal cut at its width.

    A line as wide as the widest is joined with the next one, unless that is empty or `begins` something new.
    """
    pieces = [piece.rstrip() for piece in pieces]
    width = max(map(len, pieces), default=0)
    if width not in _WIDTHS:
        return pieces
    joined: list[list[str]] = []
    previous = 0
    for piece in pieces:
        # One less: the blank at the cut is lost where blanks at the end of lines are.
        if joined and previous in (width - 1, width) and piece and not begins(piece):
            joined[-1].append(" " + piece if previous < width else piece)
        else:
            joined.append([piece])
        previous = len(piece)
    return ["".join(parts) for parts in joined]
