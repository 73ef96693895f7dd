"""Private things that are known by their shape alone: addresses, secrets, e-mail addresses, GPU UUIDs.

Every finder yields spans from left to right that do not overlap and takes time linear in the text.
"""

import ipaddress
import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from gpudoctor.redact_words import public_host, secret_key

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
    "logins",
    "pem_blocks",
    "secrets",
    "tokens",
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


# --- secrets -----------------------------------------------------------------------------------------------

_PEM_BODY = re.compile(r"(?:(?:\s|\\n){1,4}[A-Za-z0-9+/=]{16,}){0,256}")

_TOKENS = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"A(?:KIA|SIA)[0-9A-Z]{16}|AIza[\w-]{30,}|hf_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{16,}"
    r"|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,}|npm_[A-Za-z0-9]{30,}|pypi-Ag[\w-]{16,}"
    r"|dckr_pat_[\w-]{16,}|nvapi-[\w-]{20,}|ya29\.[\w-]{20,}|sk-(?=[A-Za-z_-]{0,64}\d)[\w-]{16,}"
    r"|eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]{0,4096})?"
    r")"
    r"|(?<=wandb login )[0-9a-f]{40}(?![^\W_])"
)

_SECRET_START = re.compile(
    r"(?i:passw|passphrase|secret|token|credential|api[_-]?key|_key|(?<=[?&])(?:X-Amz-|X-Goog-)?sig(?:nature)?(?==)|(?<![^\W_])authorization)"
)
_ASSIGNED = re.compile(
    r"""(?P<rest>[\w-]{0,48})["']?(?P<sign>[ \t]{0,8}(?:=|:)[ \t]{0,8}|[ \t]{1,8}(?=[^\s=:-]))"""
    r"""(?:(?i:bearer|basic|token)[ \t]{1,8})?(?P<value>"[^"\n]*"|'[^'\n]*'|[^\s,;&"']+)"""
)
_LOGIN = re.compile(
    r"(?:(?i:\bbearer[ \t]{1,8})(?=[\w.~+/-]{0,128}\d)|\blogin[ \t]{1,8}[^\s]{1,256}[ \t]{1,8}password[ \t]{1,8})"
    r"([^\s\"',;]{8,1024})"
)
_NO_SECRET = frozenset(("none", "null", "true", "false", "n/a", "<unset>", "unset", "''", '""', "***", "..."))


def pem_blocks(text: str) -> Iterator[Span]:
    """Find private keys in PEM form, cut ones too."""
    at = text.find("-----BEGIN ")
    while at >= 0:
        name_end = text.find("-----", at + 11, at + 60)
        end = at + 11
        if name_end >= 0 and "PRIVATE KEY" in text[at:name_end]:
            closing = "-----END " + text[at + 11 : name_end] + "-----"
            following = text.find("-----", name_end + 5)
            if following >= 0 and text.startswith(closing, following):
                end = following + len(closing)
            else:
                body = _PEM_BODY.match(text, name_end + 5)
                end = body.end() if body else name_end + 5
            yield Span(at, end, "token", text[at:end])
        at = text.find("-----BEGIN ", end)


def secrets(text: str) -> Iterator[Span]:
    """Find the values of `password=...`, `token: ...`, `--api-key ...`, `Authorization: Bearer ...`."""
    done = 0
    for match in _SECRET_START.finditer(text):
        if match.start() < done or not (value := _assigned(text, match)):
            continue
        done = value.end
        yield value


def _assigned(text: str, match: re.Match[str]) -> Span | None:
    assigned = _ASSIGNED.match(text, match.end())
    if assigned is None:
        return None
    name = before(text, match.start(), most=64) + match[0] + assigned["rest"]
    sign = assigned["sign"]
    # `password hunter2` is a sentence as often as a setting; `--password hunter2` is one for sure.
    if sign.isspace() and not (name.startswith("--") or match[0] == "Authorization"):
        return None
    # "--" and "." belong to the word before a name as well: it is the last part that is the name
    if not (secret_key(name.rpartition(".")[2]) or "sig" in match[0].lower()):
        return None
    start, end = assigned.span("value")
    value = assigned["value"]
    if value[0] in "\"'" and len(value) > 1:
        start, end = start + 1, end - 1
    else:
        end -= len(value) - len(value.rstrip(")]}>.\"'`"))
    value = text[start:end]
    if not value or value.casefold() in _NO_SECRET or _replaced(value) or set(value) <= set("*.-=:<>"):
        return None
    # a figure after "token" counts tokens or seconds; after "password" it may be one
    if value[0].isdigit() and len(value) < 8 and "pass" not in name.lower():
        return None
    return Span(start, end, "hidden", value)


def _replaced(value: str) -> bool:
    return value[0] == "\ufdd0" and value.find("\ufdd1") == len(value) - 1


def logins(text: str) -> Iterator[Span]:
    """Find what follows `Bearer`, and the password in a line of a netrc file."""
    if "earer" in text or "BEARER" in text or "login" in text:
        for match in _LOGIN.finditer(text):
            if not _replaced(match[1]):
                yield Span(*match.span(1), "hidden", match[1])


def tokens(text: str) -> Iterator[Span]:
    """Find tokens of well-known services by their prefixes."""
    for match in _TOKENS.finditer(text):
        yield Span(*match.span(), "token", match[0])


# --- addresses ---------------------------------------------------------------------------------------------

_IP4 = re.compile(r"\d(?<![^\W_]\d)(?<!\.\d)\d{0,2}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?!\d|\.\d)")
_VERSION_BEFORE = re.compile(
    r"(?:[=<>~!]=|\.so\.|[a-z\d]-cu\d\d[-=:\"', \t]*v?|\d\.\d+-|version[\"']?[ \t]{0,8}[:=]?[ \t]{0,8}[\"'(]?v?"
    r"|(?:nvidia|lib)?[-_]?(?:cublas|cuda|cudnn|cufft|cufile|curand|cusolver|cusparse|cusparselt|cutensor|nccl|npp"
    r"|nvidia|nvjitlink|nvjpeg|nvshmem|nvtx|tensorrt)(?:[-_]\w{0,24}){0,3}[\"']?(?:[ \t]{2,32}|[:=-][ \t]{0,8})[\"']?v?"
    r")\Z",
    re.IGNORECASE,
)
_VERSION_AFTER = re.compile(r"[A-Za-z]|-py\d|-cp\d|-\d+\+|\+cu|\.dist-info|\.whl|\.tar|-manylinux")
_IP6 = re.compile(r"[0-9A-Fa-f](?<![^\W_][0-9A-Fa-f])(?<![:.][0-9A-Fa-f])[0-9A-Fa-f]{0,3}:[0-9A-Fa-f:]{2,}")
_ROUTED = re.compile(r"[23][0-9a-f]{3}|f[c-f][0-9a-f]{2}", re.IGNORECASE)
_MAC = re.compile(
    r"[0-9A-Fa-f](?<![^\W_][0-9A-Fa-f])(?<![:-][0-9A-Fa-f])[0-9A-Fa-f](?:(?::[0-9A-Fa-f]{2}){5,19}"
    r"|(?:-[0-9A-Fa-f]{2}){5}|[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{4}){3})(?![^\W_]|[:-][0-9A-Fa-f])"
)
_GPU = re.compile(
    r"(?<![^\W_])(?:MIG-GPU|GPU|MIG)-(?P<uuid>[0-9A-Fa-f]{8}"
    r"(?:(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?:/\d{1,3}/\d{1,3})?)?)(?![^\W_])"
)


def version_of(name: str) -> bool:
    """Say whether a package of NVIDIA or a version is stored under this name: its value is then no address."""
    return _VERSION_BEFORE.search(name[-64:] + "==") is not None and (
        "version" in name.lower() or _VERSION_BEFORE.search(name[-64:] + ": ") is not None
    )


def ip4(text: str, public: Collection[str] = ()) -> Iterator[Span]:
    """Find IPv4 addresses that are neither loopback, unspecified, broadcast, a netmask nor a version."""
    for match in _IP4.finditer(text):
        start, end = match.span()
        parts = [int(part) for part in match[0].split(".")]
        if max(parts) > 255 or parts[0] in (127, 255) or not any(parts) or match[0] in public:
            continue
        if _VERSION_AFTER.match(text, end) or _VERSION_BEFORE.search(text, max(start - 64, 0), start):
            continue
        # 127.0.0.1 in other clothes does not occur; 010.0.0.1 is the same machine as 10.0.0.1
        yield Span(start, end, "ip", ".".join(map(str, parts)))


def ip6(text: str) -> Iterator[Span]:
    """Find IPv6 addresses: with a first group as routers know it, or written out in eight groups.

    `x[::2]`, `1::2`, `std::move`, `12:30:45` and PCI addresses are none. The zone (`%eth0`) is not part of one.
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
    """Find MAC addresses and the longer ones of InfiniBand (8 or 20 octets, or four groups of four digits)."""
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
    for match in _GPU.finditer(text):
        # GPU-deadbeef may be a word; a digit makes it none
        if len(match["uuid"]) > 8 or not match["uuid"].isalpha():
            yield Span(*match.span(), "gpu-uuid", match["uuid"].lower())


# --- names with an @ or a :// ------------------------------------------------------------------------------

AT = re.compile(r"(?<=[A-Za-z0-9_.%+-])@(?=[A-Za-z0-9])")
DOMAIN = re.compile(r"[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,8}")
_URL = re.compile(
    r"""://(?:[^\s/?#"'<>]{0,256}@)?(?P<host>[A-Za-z0-9][A-Za-z0-9._-]{0,252})"""
    r"""(?P<port>:\d{1,5})?(?P<rest>/[^\s"'<>`)\]}\\]*)?"""
)
_UNITS = ("service", "socket", "slice", "mount", "timer", "target")


def login(text: str, start: int, end: int) -> bool:
    """Say whether `user@host` stands in a shell's prompt or is handed to ssh and its kin."""
    told = text.startswith((":~", ":/", " ~]"), end)
    return told or text[max(start - 6, 0) : start].endswith(("ssh ", "scp ", "rsync "))


def emails(text: str) -> Iterator[Span]:
    """Find e-mail addresses, but neither `q@k.transpose(...)`, `getty@tty1.service` nor `git@github.com:`."""
    done = 0
    for match in AT.finditer(text):
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
        if left == "git" and public_host(right[0]) or login(text, start, right.end()):
            continue
        done = right.end()
        yield Span(start, done, "email", text[start:done].lower())


def urls(text: str) -> Iterator[re.Match[str]]:
    """Find what follows the scheme of a URL with a named host or with credentials."""
    return _URL.finditer(text) if "://" in text else iter(())
