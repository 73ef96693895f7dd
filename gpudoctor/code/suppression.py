"""What a comment in a script wants to hear nothing of: ``# gpudoctor: ignore[sampler-set-epoch] one epoch alone``."""

import difflib
import io
import re
import tokenize
from collections.abc import Collection, Iterator

from gpudoctor.code.source import Source
from gpudoctor.model import Finding

_IGNORE = re.compile(r"#\s*gpudoctor:\s*ignore(?:\[(?P<ids>[^\]]*)\]|(?![\w\[-]))")
Ignored = dict[int, frozenset[str]]
"""By line: ids that a comment there wants to hear nothing of; an empty set means all."""


def ignored(source: Source) -> Ignored:
    """Return what the comments of a file want to hear nothing of."""
    if "gpudoctor:" not in source.text:
        return {}
    found = {}
    for number, comment in _comments(source.text):
        match = _IGNORE.search(comment)
        if match:
            ids = (match["ids"] or "").strip()
            found[number] = frozenset(re.split(r"[\s,]+", ids)) if ids else frozenset()
    return found


def unknown(source: Source, known: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each id in such a comment that no check bears."""
    for number, ids in sorted(ignored(source).items()):
        for id in sorted(ids - set(known)):
            name, line = source.place(number)
            near = difflib.get_close_matches(id, known, n=1, cutoff=0.5)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            yield f"{name}:{line}: this comment ignores {id!r}, and no check is named so{meant}"


def suppressed(finding: Finding, source: Source, line: int) -> bool:
    """Return whether a comment on the finding's line of the text, or alone on the line above, hides it."""
    comments = ignored(source)
    for number in (line, line - 1):
        ids = comments.get(number)
        if ids is not None and (not ids or finding.id in ids):
            if number == line or source.line(number).lstrip().startswith("#"):
                return True
    return False


def _comments(text: str) -> list[tuple[int, str]]:
    try:
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        return [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT]
    except (tokenize.TokenError, SyntaxError):
        return []
