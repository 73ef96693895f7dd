"""What is private and still stands in a text that is about to be written."""

import json
import re
from collections.abc import Callable, Iterator

from gpudoctor.patterns import late_pattern
from gpudoctor.redact import identifiers, secrets
from gpudoctor.redact.identifiers import Span
from gpudoctor.redact.names import Private, known, stands_alone
from gpudoctor.redact.paths import AFTER_FOLDER, home_owner, paths, windows_paths
from gpudoctor.redact.word_lists import ALIAS, COLOUR

__all__ = ["leftovers"]

IN_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})
"""As html.escape writes them; its module brings two thousand names of letters along."""
_WORDS = late_pattern(r"[A-Za-z0-9]+|[^\x00-\x7f]+")
_FINDERS: tuple[Callable[[str], Iterator[Span]], ...] = (
    secrets.pem_blocks,
    secrets.secrets,
    secrets.logins,
    secrets.tokens,
    identifiers.emails,
    identifiers.gpu_uuids,
    identifiers.hardware_addresses,
    identifiers.ip6,
)


def leftovers(text: str, private: Private) -> list[str]:
    """Return what is private and still in a rendering: nothing, unless redaction was left out or has a fault.

    Looks for the known names by plain search and for shapes by the finders, without the redactor's passes.
    """
    text = ALIAS.sub("\ufdd0\ufdd1", COLOUR.sub("\ufdd3", text.replace("\ufdd0", "\ufffd")))
    names, folders = known(private)
    for host in private.hosts:
        names.add_host(host, certain=True)
    bodies = [text, re.sub(r"\\[nrt\"/]", "  ", text)] if "\\" in text else [text]
    small = [body.lower() for body in bodies]
    words = set(_WORDS.findall(small[-1]))
    # thousands of nodes are not searched one by one: the first word tells that most are not there
    likely = [name for name in names.kinds if (word := _WORDS.search(name)) and word[0] in words]
    found = [name for name in likely if _contains(small, name, stands_alone)]
    found += (folder for folder in folders if _contains(bodies, folder, _ends_folder))
    public = set(private.public) - names.addresses
    for find in _FINDERS:
        found += (text[span.start : span.end] for span in find(text))
    found += (text[span.start : span.end] for span in identifiers.ip4(text, public))
    found += (match[0] for match in identifiers.urls(text) if match.start() + 3 < match.start("host"))
    for start, end in (*windows_paths(text), *paths(text)):
        if owner := home_owner(text[start:end]):
            found.append(owner)
    return [thing for thing in dict.fromkeys(found) if thing not in public]


def _contains(texts: list[str], name: str, fits: Callable[[str, int, int], object]) -> bool:
    for form in dict.fromkeys((name, json.dumps(name)[1:-1], name.translate(IN_HTML))):
        for text in texts:
            at = text.find(form)
            while at >= 0:
                if fits(text, at, at + len(form)):
                    return True
                at = text.find(form, at + 1)
    return False


def _ends_folder(text: str, _: int, end: int) -> bool:
    return AFTER_FOLDER.match(text, end) is not None
