"""The page of a check, as Markdown: for ``gpudoctor show`` and for ``docs/checks/``."""

from gpudoctor.model import Check, Fix, Kind

WORDS = {
    Kind.COMMAND: "",
    Kind.EDIT: " (in your code)",
    Kind.ADMIN: " (needs root or the machine's owner)",
    Kind.MITIGATION: " (hides the fault)",
}
"""What is said of a fix besides its summary."""


def page(check: Check, difference: str | None, shown_on: str | None = None) -> str:
    """Write a check's page: what its docstring says, its fixes, and the difference that its reproduction proves.

    `shown_on` is what the reproduction runs on in the place of the real thing.
    """
    about = f"`{check.id}` · {check.family} · {severity(check)}"
    before, mark, after = check.page.partition("## See also")
    parts = [f"# {check.title}", about, before.strip(), fix_section(check, difference, shown_on)]
    if mark:
        parts.append(f"{mark}{after}".strip())
    return "\n\n".join(parts) + "\n"


def severity(check: Check) -> str:
    """Return how much a failure matters, and when that is otherwise."""
    return check.severity.value + (f", {check.otherwise}" if check.otherwise else "")


def fix_section(check: Check, difference: str | None, shown_on: str | None = None) -> str:
    """Write the section that says what to do."""
    parts = ["## Fix", *map(_fix, check.fixes)]
    if difference is not None:
        ground = f", on {shown_on}" if shown_on else ""
        parts.append(
            f"Prove it: `gpudoctor repro {check.id}` runs a script that fails with this error and the same script "
            f"repaired{ground}. The difference between them:"
        )
        parts.append(f"```diff\n{difference}```")
    return "\n\n".join(parts)


def _fix(fix: Fix) -> str:
    text = f"- {fix.summary}{WORDS[fix.kind]}"
    if not fix.command:
        return text
    language = "python" if fix.kind is Kind.EDIT else "sh"
    code = "\n".join(f"  {line}".rstrip() for line in fix.command.splitlines())
    return f"{text}\n\n  ```{language}\n{code}\n  ```"
