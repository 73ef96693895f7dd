"""What is said of a fix: a mark where room is short, a sentence where it is not."""

import ast
import re
from collections.abc import Iterable

from gpudoctor.model import Fix, How, Kind, Known

WORDS = {
    Kind.COMMAND: "",
    Kind.EDIT: " (in your code)",
    Kind.ADMIN: " (needs root or the machine's owner)",
    Kind.MITIGATION: " (hides the fault)",
}
"""What is said of a fix besides its summary."""
SETTING = re.compile(r"(?!else\b|try\b|finally\b)\w+: \S")
"""The first words of a piece of YAML; as an annotation Python would take it too."""
MARKS = {
    How.SEEN: "seen",
    How.REPORTED: "reported",
    How.DOCUMENTED: "documented",
    How.LOOKS: "looks",
    How.FOLLOWS: "plain",
}
MEANINGS = {
    How.SEEN: "seen to work, a script fails without it and passes with it",
    How.REPORTED: "reported to work, in an issue",
    How.DOCUMENTED: "documentation says what it does; not run against this failure",
    How.LOOKS: "changes nothing",
    How.FOLLOWS: "follows from what was found",
}


def besides(fix: Fix) -> str:
    """Return what is said of a fix besides its summary: only what is Python goes into the reader's own code."""
    return "" if fix.kind is Kind.EDIT and language(fix) != "python" else WORDS[fix.kind]


def language(fix: Fix) -> str:
    """Return the language of a fix's command, as a fence in Markdown names it.

    An edit may be one of a configuration or a job script, and what hides a fault may be a line of Python.
    """
    if fix.command.startswith(('"', "{")):
        return "json"
    if SETTING.match(fix.command):
        return "yaml"
    if fix.kind is Kind.EDIT and not fix.command.startswith(("#SBATCH", "--")):
        return "python"
    return "python" if fix.kind is Kind.MITIGATION and _is_python(fix.command) else "sh"


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def mark(fix: Fix) -> str:
    """Return the mark of a fix, with a blank before it; empty where nothing is known."""
    return f" [{MARKS[fix.known.how]}]" if fix.known else ""


def legend(fixes: Iterable[Fix]) -> str:
    """Explain the marks of some fixes in a line; empty where there are none."""
    shown = {fix.known.how for fix in fixes if fix.known}
    return "; ".join(f"[{MARKS[how]}] {MEANINGS[how]}" for how in How if how in shown)


def sentence(known: Known) -> str:
    """Say in Markdown what is known of a fix, with the link."""
    named = f"[{known.by or known.link}]({known.link})" if known.link else known.by
    if known.how is How.LOOKS:
        return "It looks, and changes nothing."
    text = known.how.value[0].upper() + known.how.value[1:]
    if known.how is How.SEEN:
        return f"{text}: with {named}."
    return f"{text}: {named}." if named else f"{text}."
