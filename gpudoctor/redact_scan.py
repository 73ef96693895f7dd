"""Looks whether anything private is left in what is about to be written."""

import html
import json
import re
from collections.abc import Callable, Iterator

from gpudoctor import redact_secrets, redact_shapes
from gpudoctor.redact_names import Private, known, stands_alone
from gpudoctor.redact_paths import AFTER_FOLDER, home_owner, paths, windows_paths
from gpudoctor.redact_shapes import Span
from gpudoctor.redact_words import ALIAS

__all__ = ["leftovers"]


def leftovers(text: str, private: Private) -> list[str]:
    """Return what is private and still in a rendering: nothing, unless redaction was left out or has a fault.

    Looks for the known names by plain search and for shapes by the finders, without the redactor's passes.
    """
    text = ALIAS.sub("\ufdd0\ufdd1", text.replace("\ufdd0", "\ufffd"))
    names, folders = known(private)
    for host in private.hosts:
        names.add_host(host, True)
    found: list[str] = []
    plain = re.sub(r"\\[nrt\"/]", "  ", text) if "\\" in text else text
    searched = [body.lower() for body in dict.fromkeys((text, plain))]
    words = set(re.findall(r"[^\W_]+", text.lower()))
    for name in (*names.kinds, *folders):
        # thousands of nodes are not searched one by one: the first word tells that most are not there
        if (word := re.search(r"[^\W_]+", name.lower())) and word[0] not in words:
            continue
        for form in dict.fromkeys((name, json.dumps(name)[1:-1], html.escape(name))):
            if any(_contains(body, form.lower()) for body in searched):
                found.append(name)
                break
    finders: tuple[Callable[[str], Iterator[Span]], ...] = (
        redact_secrets.pem_blocks, redact_secrets.secrets, redact_secrets.logins, redact_secrets.tokens, redact_shapes.emails, redact_shapes.gpu_uuids,
        redact_shapes.hardware_addresses, redact_shapes.ip6, lambda text: redact_shapes.ip4(text, set(private.public) - names.addresses),
    )  # fmt: skip
    for find in finders:
        found += (text[span.start : span.end] for span in find(text))
    for start, end in (*windows_paths(text), *paths(text)):
        if owner := home_owner(text[start:end]):
            found.append(owner)
    return [thing for thing in dict.fromkeys(found) if thing not in private.public]


def _contains(text: str, name: str) -> bool:
    at = text.find(name)
    while at >= 0:
        if stands_alone(text, at, at + len(name)) and AFTER_FOLDER.match(text, at + len(name)):
            return True
        at = text.find(name, at + 1)
    return False
