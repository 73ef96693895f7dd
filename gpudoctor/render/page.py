"""The page of a check, as Markdown: for ``gpudoctor show`` and for ``docs/checks/``."""

from gpudoctor.catalogue import ground, proven
from gpudoctor.grounds import device, known, proof_of, versions_of
from gpudoctor.model import Check, Fix, Known
from gpudoctor.registry import Registry
from gpudoctor.render.marks import besides, language, sentence
from gpudoctor.text import listed


def page(check: Check, registry: Registry) -> str:
    """Write a check's page: what its docstring says, its fixes, and the difference that its reproduction proves."""
    about = f"`{check.id}` · {check.family} · {severity(check)}"
    before, mark, after = check.page.partition("## See also")
    parts = [f"# {check.title}", about, before.strip(), fix_section(check, registry)]
    if mark:
        parts.append(f"{mark}{after}".strip())
    return "\n\n".join(parts) + "\n"


def severity(check: Check) -> str:
    """Return how much a failure matters, and when that is otherwise."""
    return check.severity.value + (f", {check.otherwise}" if check.otherwise else "")


def fix_section(check: Check, registry: Registry) -> str:
    """Write the section that says what to do, what is known of that, and what was run."""
    fixes = (_fix(fix, known(fix, check.id, registry)) for fix in check.fixes)
    parts = ["## Fix", *fixes]
    difference = proven(check, registry)
    if difference is not None:
        other = ground(check, registry)
        place = f", on {other}" if other else ""
        parts.append(
            f"Prove it: `gpudoctor repro {check.id}` runs a script that fails with this error and the same script "
            f"repaired{place}. The difference between them:"
        )
        parts.append(f"```diff\n{difference}```")
        parts += run_under(check.id, registry)
    return "\n\n".join(parts)


def run_under(id: str, registry: Registry) -> list[str]:
    """Say under which versions of torch a reproduction was run, and what did not hold; a paragraph for each."""
    paragraphs = []
    record = proof_of(id, registry)
    if record is not None and record.held:
        torch = f"torch {record.torch}" if record.torch else "a Python without torch"
        paragraphs.append(
            f"Run on {record.date} with {torch} on {device(record)}: the symptom matched, and the fix passed."
        )
    others = versions_of(id, registry)
    if held := [version for version, halves in others.items() if halves.held]:
        paragraphs.append(f"The same with torch {listed(held, len(held))}.")
    others_say = [(version, halves) for version, halves in others.items() if not halves.held]
    return paragraphs + [
        f"Not with torch {version}: {_plain(halves.why or f'fixed.py {halves.fixed.value}')}."
        for version, halves in others_say
    ]


def _plain(text: str) -> str:
    """Keep what a script said from being read as HTML."""
    return text.rstrip(".").replace("<", "&lt;")


def _fix(fix: Fix, what: Known | None) -> str:
    text = f"- {fix.summary}{besides(fix)}" + (f". {sentence(what)}" if what else "")
    if not fix.command:
        return text
    code = "\n".join(f"  {line}".rstrip() for line in fix.command.splitlines())
    return f"{text}\n\n  ```{language(fix)}\n{code}\n  ```"
