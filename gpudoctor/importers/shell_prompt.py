"""What a shell shows before the command that is typed."""

import re

# "$ ", "# " of root in a container, "user@host:~/dir$ ", "(env) user@host:~$ ", "[user@host dir]$ ", "PS C:\\> ", "➜  "
_PROMPT = re.compile(
    r"(?:\([\w.-]{1,40}\) ?)?(?:(?:\[?[\w.-]{1,40}@[\w.-]{1,80}[: ][^$#>]{0,80}\]?)?[$%>\u276f] ?|\u279c\s{1,3}"
    r"|(?:\[?[\w.-]{1,40}@[\w.-]{1,80}[: ][^$#>]{0,80}\]?)# ?)(?=[\w./])"
)


def without_prompt(line: str) -> str:
    """Return the command of a line without the prompt before it: ``$ export A=1``, ``root@4f1c:/work# env``."""
    match = _PROMPT.match(line[:300])
    return line[match.end() :] if match else line
