"""Identifiers that are known by their shape alone: addresses, e-mail addresses, UUIDs of GPUs, hosts in URLs.

Every finder yields spans from left to right that do not overlap and takes time linear in the text.
"""

import ipaddress
import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from gpudoctor.patterns import late_pattern
from gpudoctor.redact.word_lists import public_host

__all__ = [
    "AT",
    "DOMAIN",
    "Span",
    "before",
    "emails",
    "gpu_uuids",
    "hardware_addresses",
    "ip4",
    "ip6",
    "login",
    "urls",
    "version_of",
]


class Span(NamedTuple):
    """One private thing in a text: where, of what kind, and by what it is told from others of its kind."""

    start: int
    end: int
    kind: str
    key: str


_WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"


def before(text: str, end: int, letters: str = _WORD, most: int = 253) -> str:
    """Return what stands directly before a place and consists of these letters."""
    piece = text[max(end - most, 0) : end]
    return piece[len(piece.rstrip(letters)) :]


# --- addresses ---------------------------------------------------------------------------------------------

_IP4 = late_pattern(r"\d(?<![A-Za-z0-9]\d)(?<!\.\d)\d{0,2}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?!\d|\.\d)")
_COMPARED = ("==", ">=", "<=", "~=", "!=")
_PACKAGE = late_pattern(
    r"(?:nvidia[-_])?(?:lib)?(?:cublas|cuda|cudnn|cufft|cufile|curand|cusolver|cusparse|cutensor|nccl|npp"
    r"|nvjitlink|nvjpeg|nvshmem|nvtx|tensorrt)(?:lt|mp)?"
    r"(?:[-_](?:cu\d\d|cupti|dev|frontend|libraries|nvcc|nvrtc|runtime)){0,3}"
    r"|[\w-]{0,48}[-_]cu\d\d"
)
_VERSION_AFTER = late_pattern(r"[A-Za-z]|-py\d|-cp\d|-\d+\+|\+cu|\.dist-info|\.whl|\.tar|-manylinux")
_IP6 = late_pattern(
    r"[0-9A-Fa-f](?<![A-Za-z0-9][0-9A-Fa-f])(?<!\.[0-9A-Fa-f])[0-9A-Fa-f]{0,3}:[0-9A-Fa-f:]{2,}"
)
_ROUTED = late_pattern(r"[23][0-9a-f]{3}|f[c-f][0-9a-f]{2}", re.IGNORECASE)
_MAC = late_pattern(
    r"[0-9A-Fa-f](?<![A-Za-z0-9][0-9A-Fa-f])[0-9A-Fa-f](?:(?::[0-9A-Fa-f]{2}){5,19}"
    r"|(?:-[0-9A-Fa-f]{2}){5}|[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{4}){3})(?![A-Za-z0-9]|[:-][0-9A-Fa-f]{2}(?![A-Za-z0-9]))"
)
_GPU = late_pattern(
    r"(?<![A-Za-z0-9])(?:MIG-GPU|GPU|MIG)-(?P<uuid>[0-9A-Fa-f]{8}"
    r"(?:(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?:/\d{1,3}/\d{1,3})?)?)(?![A-Za-z0-9])"
)


def version_of(name: str) -> bool:
    """Return whether a version is stored under this name: it is then no address, for all its four parts."""
    low = name.lower()
    return low.endswith("version") or _PACKAGE.fullmatch(low) is not None


def _follows_version_sign(text: str, start: int) -> bool:
    lead = text[max(start - 72, 0) : start]
    lead = lead[:-1] if lead.endswith(("v", "V")) else lead
    word = lead.rstrip(" \t:=,\"'(")
    if lead.endswith(_COMPARED) or (word != lead and version_of(before(word, len(word)))):
        return True
    # libcudnn.so.8.9.2.26, MLNX_OFED-5.8-1.1.2.1, nvidia_cufft_cu12-11.2.1.3
    if lead.endswith(("-", "_")) and lead[-2:-1].isdigit():
        return "." in lead[-6:] or version_of(before(lead[:-1], 72))
    return lead.endswith(".so.")


def ip4(text: str, public: Collection[str] = ()) -> Iterator[Span]:
    """Find IPv4 addresses that are neither loopback, unspecified, broadcast, a netmask nor a version."""
    for match in _IP4.finditer(text):
        start, end = match.span()
        parts = [int(part) for part in match[0].split(".")]
        if max(parts) > 255 or parts[0] in (127, 255) or not any(parts) or match[0] in public:
            continue
        if _VERSION_AFTER.match(text, end) or _follows_version_sign(text, start):
            continue
        # 010.0.0.1 is the same machine as 10.0.0.1
        yield Span(start, end, "ip", ".".join(map(str, parts)))


def ip6(text: str) -> Iterator[Span]:
    """Find IPv6 addresses: with a first group as routers know it, or written out in eight groups.

    `x[::2]`, `1::2`, `std::move`, `12:30:45` and PCI addresses are none. A zone (`%eth0`) is no part of one.
    """
    for match in _IP6.finditer(text):
        start, end = match.span()
        found = match[0]
        after = text[end : end + 1]
        if after.isalnum() or after in ("_", "\ufdd0"):
            continue
        if found.endswith(":") and not found.endswith("::"):
            found = found[:-1]
        if found.count(":") != 7 and not ("::" in found and _ROUTED.match(found)):
            continue
        # a[2000::2] is a slice, [2000::2]:29500 an address
        if text[start - 1 : start] == "[" and text[max(start - 2, 0) : start - 1].isidentifier():
            continue
        try:
            key = ipaddress.IPv6Address(found).compressed
        except ValueError:
            continue
        if key not in ("::", "::1"):
            yield Span(start, start + len(found), "ip", key)


def hardware_addresses(text: str) -> Iterator[Span]:
    """Find MAC addresses and the longer ones of InfiniBand (8 or 20 octets, or four groups of four)."""
    for match in _MAC.finditer(text):
        key = match[0].lower().replace("-", ":")
        if len(key.split(":")) not in (4, 6, 8, 20) or set(key) <= set("0:") or set(key) <= set("f:"):
            continue
        # 24-05-01-12-30-45 is a time
        if "-" in match[0] and key.replace(":", "").isdigit():
            continue
        yield Span(*match.span(), "mac", key)


def gpu_uuids(text: str) -> Iterator[Span]:
    """Find UUIDs of GPUs and MIG slices; the first eight digits alone name the same GPU to CUDA."""
    if "GPU-" not in text and "MIG-" not in text:
        return
    for match in _GPU.finditer(text):
        # GPU-deadbeef may be a word; a digit makes it none
        if len(match["uuid"]) > 8 or not match["uuid"].isalpha():
            yield Span(*match.span(), "gpu-uuid", match["uuid"].lower())


# --- names with an @ or a :// ------------------------------------------------------------------------------

AT = late_pattern(r"(?<=[A-Za-z0-9_.%+-])@(?=[A-Za-z0-9])")
DOMAIN = late_pattern(r"[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,8}")
_URL = late_pattern(
    # Hydra's search path names Python packages so.
    r"""(?<!pkg)(?<!package)(?<!structured)://(?:[^\s/?#"'<>]{0,256}@)?(?P<host>[A-Za-z0-9][A-Za-z0-9._-]{0,252}|\[[0-9A-Fa-f:]{2,45})"""
    r"""(?P<port>:\d{1,5})?(?P<rest>/[^\s"'<>`)\]}\\]*)?"""
)
# [jane@gpu7 project]$ and (base) jane@gpu7 project %
_PROMPT_BEGIN = late_pattern(r"(?:^|\n)(?:\([\w.-]{1,32}\) )?\[?\Z")
_PROMPT_END = late_pattern(r"(?: [\w.~/-]{1,64})?\]? ?[$#%>](?:\s|\Z)")
_UNITS = ("service", "socket", "slice", "mount", "timer", "target")


def login(text: str, start: int, end: int) -> bool:
    """Return whether `user@host` stands in a shell's prompt or is handed to ssh and its kin."""
    told = text.startswith((":~", ":/", " ~]", ": Permission denied"), end)
    if _PROMPT_BEGIN.search(text, max(start - 48, 0), start) and _PROMPT_END.match(text, end):
        return True
    return told or text[max(start - 6, 0) : start].endswith(("ssh ", "scp ", "rsync "))


def emails(text: str) -> Iterator[Span]:
    """Find e-mail addresses, but neither `q@k.transpose(...)`, `getty@tty1.service` nor `git@github.com:`."""
    done = 0
    for match in AT.finditer(text) if "@" in text else ():
        right = DOMAIN.match(text, match.end())
        left = before(text, match.start(), _WORD + "%+", 64).lstrip(".-")
        start = max(match.start() - len(left), done)
        if right is None or start >= match.start():
            continue
        last = right[0].rpartition(".")[2]
        after = text[right.end() : right.end() + 1]
        if (
            "." not in right[0]
            or not last.isalpha()
            or len(last) < 2
            or last in _UNITS
            or after in ("(", "[", "_")
        ):
            continue
        if (left == "git" and public_host(right[0])) or login(text, start, right.end()):
            continue
        done = right.end()
        yield Span(start, done, "email", text[start:done].lower())


def urls(text: str) -> Iterator[re.Match[str]]:
    """Find what follows the scheme of a URL with a named host or with credentials."""
    return _URL.finditer(text) if "://" in text else iter(())
