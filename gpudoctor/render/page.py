"""The page of a check, as Markdown: for ``gpudoctor show`` and for ``docs/checks/``."""

import difflib
import re
from pathlib import Path

from gpudoctor.model import Check, Fix, Kind

RUN_LINE = re.compile(r"^# run: .*$", re.MULTILINE)
WORDS = {
    Kind.COMMAND: "",
    Kind.EDIT: " (in your code)",
    Kind.ADMIN: " (needs root or the machine's owner)",
    Kind.MITIGATION: " (hides the fault)",
}


def page(check: Check, reproduction: Path | None) -> str:
    """Write a check's page: what its docstring says, its fixes, and the difference that its reproduction proves."""
    about = f"`{check.id}` · {check.family} · {check.severity.value}"
    before, mark, after = check.page.partition("## See also")
    parts = [f"# {check.title}", about, before.strip(), fix_section(check, reproduction)]
    if mark:
        parts.append(f"{mark}{after}".strip())
    return "\n\n".join(parts) + "\n"


def fix_section(check: Check, reproduction: Path | None) -> str:
    """Write the section that says what to do."""
    parts = ["## Fix", *map(_fix, check.fixes)]
    if reproduction is not None:
        parts.append(
            f"Prove it: `gpudoctor repro {check.id}` runs a script that fails with this error and the same script "
            "repaired. The difference between them:"
        )
        parts.append(f"```diff\n{difference(reproduction)}```")
    return "\n\n".join(parts)


def _fix(fix: Fix) -> str:
    text = f"- {fix.summary}{WORDS[fix.kind]}"
    if not fix.command:
        return text
    language = "python" if fix.kind is Kind.EDIT else "sh"
    code = "\n".join(f"  {line}".rstrip() for line in fix.command.splitlines())
    return f"{text}\n\n  ```{language}\n{code}\n  ```"


def difference(reproduction: Path) -> str:
    """Return the unified diff from ``broken.py`` to ``fixed.py``; that their names differ is no difference."""
    broken, fixed = ((reproduction / name).read_text(encoding="utf-8") for name in ("broken.py", "fixed.py"))
    fixed = RUN_LINE.sub(lambda line: line[0].replace("fixed.py", "broken.py"), fixed)
    before, after = broken.splitlines(keepends=True), fixed.splitlines(keepends=True)
    return "".join(difflib.unified_diff(before, after, "broken.py", "fixed.py", n=2))
