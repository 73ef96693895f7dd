"""Secrets by their shape and by what they are assigned to: keys, passwords, tokens."""

import re
from collections.abc import Iterator
from functools import cache

from gpudoctor.patterns import late_pattern
from gpudoctor.redact.identifiers import Span, before
from gpudoctor.redact.word_lists import secret_key

__all__ = ["logins", "pem_blocks", "secrets", "tokens"]

_PEM_BODY = late_pattern(r"(?:(?:\s|\\n){1,4}[A-Za-z0-9+/=]{16,}){0,256}")

# What a token begins with, and how it goes on.
_TOKEN_SHAPES = (
    ("AKIA", r"[0-9A-Z]{16}"),
    ("ASIA", r"[0-9A-Z]{16}"),
    ("AIza", r"[\w-]{30,}"),
    ("hf_", r"[A-Za-z0-9]{16,}"),
    ("ghp_", r"[A-Za-z0-9]{16,}"),
    ("gho_", r"[A-Za-z0-9]{16,}"),
    ("ghu_", r"[A-Za-z0-9]{16,}"),
    ("ghs_", r"[A-Za-z0-9]{16,}"),
    ("ghr_", r"[A-Za-z0-9]{16,}"),
    ("github_pat_", r"\w{16,}"),
    ("glpat-", r"[\w-]{16,}"),
    ("xox", r"[abeprs]-[\w-]{10,}"),
    ("npm_", r"[A-Za-z0-9]{30,}"),
    ("pypi-", r"Ag[\w-]{16,}"),
    ("dckr_pat_", r"[\w-]{16,}"),
    ("nvapi-", r"[\w-]{20,}"),
    ("ya29.", r"[\w-]{20,}"),
    ("sk-", r"(?=[A-Za-z_-]{0,64}\d)[\w-]{16,}"),
    ("eyJ", r"[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]{0,4096})?"),
    ("wandb login ", r"(?<= )[0-9a-f]{40}(?![A-Za-z0-9])"),
)
_SECRET_WORDS = (
    "passw", "passphrase", "secret", "token", "credential", "apikey", "api_key", "api-key", "_key",
    "authorization", "?sig", "&sig", "x-amz-sig", "x-goog-sig",
)  # fmt: skip
# The quotes may be those of a JSON text inside another one, each with its backslash.
_ASSIGNED = late_pattern(
    r"""(?P<rest>[\w-]{0,48})(?:\\{0,3}["'])?"""
    r"""(?P<sign>[ \t]{0,8}(?:=|:)[ \t]{0,8}|[ \t]{1,8}(?=[^\s=:-])|,[ \t]{1,2}(?=["']))"""
    r"""(?:(?i:bearer|basic|token)[ \t]{1,8})?(?:\\{0,3}"(?P<double>(?:[^"\\\n]|\\+[^"\\\n])*)"""
    r"""|\\{0,3}'(?P<single>(?:[^'\\\n]|\\+[^'\\\n])*)|(?P<bare>[^\s,;&"']+))"""
)
_LOGIN = late_pattern(
    r"(?:(?i:\bbearer[ \t]{1,8})(?=[\w.~+/-]{0,128}\d)"
    r"|\blogin[ \t]{1,8}[^\s]{1,256}[ \t]{1,8}password[ \t]{1,8})([^\s\"',;]{8,1024})"
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
    low = text.lower()
    if len(low) != len(text):
        # a few capitals have two small letters; what stands where must not shift
        low = "".join(letter.lower() if letter.isascii() else letter for letter in text)
    places = sorted((at, word) for word in _SECRET_WORDS if word in low for at in _places(low, word))
    done = 0
    for at, word in places:
        if at >= done and (value := _assigned(text, at, word)):
            done = value.end
            yield value


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))


def _assigned(text: str, at: int, word: str) -> Span | None:
    assigned = _ASSIGNED.match(text, at + len(word))
    if assigned is None:
        return None
    name = before(text, at, most=64) + text[at : at + len(word)] + assigned["rest"]
    sign = assigned["sign"]
    # `password hunter2` is a sentence as often as a setting; `--password hunter2` is one for sure.
    # A list of a command's words has it behind a comma.
    if (sign.isspace() or sign[0] == ",") and not (name.startswith("--") or word == "authorization"):
        return None
    # "--" and "." belong to the word before a name as well: it is the last part that is the name
    if "sig" in word:
        if sign != "=" or not name.lower().endswith(("sig", "signature")):
            return None
    elif not secret_key(name.rpartition(".")[2]):
        return None
    start, end = assigned.span(assigned.lastgroup or 0)
    if assigned["bare"]:
        end = start + len(assigned["bare"].rstrip(")]}>.`\\"))
    value = text[start:end]
    if not value or value.casefold() in _NO_SECRET or _replaced(value) or not any(map(str.isalnum, value)):
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
    if pattern := _token_pattern(tuple(shape for shape in _TOKEN_SHAPES if shape[0] in text)):
        for match in pattern.finditer(text):
            yield Span(*match.span(), "token", match[0])


@cache
def _token_pattern(shapes: tuple[tuple[str, str], ...]) -> re.Pattern[str] | None:
    kinds = "|".join(re.escape(start) + rest for start, rest in shapes)
    return re.compile(rf"(?<![A-Za-z0-9])(?:{kinds})") if kinds else None
