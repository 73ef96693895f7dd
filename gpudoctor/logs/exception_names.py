"""How a line names an exception, inside a traceback and outside of one."""

import builtins
from collections.abc import Sequence

from gpudoctor.logs.lines import Line
from gpudoctor.patterns import late_pattern

RAISED = late_pattern(
    r"^(?:[#*`>|│ ]|E ){0,8}(?P<type>(?:[A-Za-z_]\w{0,60}\.){1,8}(?:[a-z]{0,12}error|timeout)(?=: |:?$)|"
    # Ray names in brackets what it passes on
    r"(?:[A-Za-z_]\w{0,60}\.){0,8}_?[A-Z]\w{0,80}(?:\(\w{1,60}\)(?=: ))?"
    # Any capitalised name may be an exception where a message follows; alone, its name must say so.
    r"(?=: |:?$)(?:(?<=Error|.Exit)|(?<=Exception|Interrupt|Iteration)|(?=: \S))|"
    # Alone with its module, as queue.Empty, it is no word of a sentence.
    r"(?:[A-Za-z_]\w{0,60}\.){1,8}[A-Z]\w{0,80}(?=$))(?:: ?(?P<message>.*))?$"
)
# Outside of a traceback the name itself must say that it is an exception.
NAMED = late_pattern(
    r"(?:^[\"'“‘]{0,2}|[\s`*>#│|(\]:-])(?P<type>(?:[A-Za-z_]\w{0,60}\.){0,8}(?:_?[A-Z]\w{0,60}(?:Error|Exception|NotMet|Expired)|"
    r"\w{0,60}(?:StopIteration|KeyboardInterrupt|SystemExit))(?:\(\w{1,60}\))?|"
    # those of the standard library that are not called so
    r"(?:zipfile\.)?BadZipFile|(?:socket\.)?(?:gaierror|herror)|(?:zlib|binascii|struct|cv2|lmdb|socket)\.error|"
    r"(?:socket|queue)\.[tT]imeout|"
    # at a line's beginning alone, for elsewhere these are words of a sentence: the plain one, and what a module of
    # exceptions holds, as torch._dynamo.exc.Unsupported
    r"(?<!.)(?:Exception|(?:[a-z_]\w{0,60}\.){1,6}(?:exc|exceptions?|errors?)\.[A-Z]\w{0,60}))"
    r" {0,8}: (?P<message>\S.*)$"
)
BARE = late_pattern(r"^(?P<type>(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{1,60}(?:Error|Exception)):?$")
"""An exception without a message; it counts where the source that raised it, or carets, stand right above it."""
USAGE = late_pattern(
    r"^(?P<message>[\w./-]*python[\d.]*: (?:can't open file|No module named ).*|[\w./-]+\.py: error: .*|"
    r"Error .{1,200} at line \d+ in file \S+|"
    # absl, absl/app.py
    r"FATAL Flags parsing error: .*|"
    # argparse and click, whatever the program is called
    r"(?:[\w./-]{1,80}|[\w./-]{1,40}(?: [\w<>\[\]./-]{1,40}){1,4}): error: "
    r"(?:argument |the following arguments are required|unrecognized arguments|"
    r"one of the arguments|ambiguous option).*|"
    # Open MPI and PRRTE, in a box
    r"An unrecognized option was included on the \w+ command line:?|"
    r"(?:mpirun|mpiexec|orterun|prterun) "
    r"(?:was unable to find the specified executable file|has detected an attempt to run as root).*|"
    r"Error: (?:Invalid value|No such (?:option|command)|Missing (?:option|argument|parameter|command)).*|"
    # the same in rich's box, as typer prints it
    r"│ (?:Invalid value for|No such (?:option|command):|Missing (?:option|argument|parameter|command)|"
    r"Got unexpected extra argument).* │|"
    r"(?:/bin/)?(?:ba|z)?sh: .{0,200}(?:command not found|No such file or directory|Permission denied))$"
)
"""What Python, argparse and a shell say before a script runs."""
PYTHONS = late_pattern(r"^[\w./-]*python[\d.]*: Error while finding module specification for .*")
"""Python's own end where the module of ``python -m`` is not there: it quotes an exception that it caught itself."""
NATIVE = late_pattern(
    r"^(?:terminate called after throwing an instance of '(?P<type>[^']{1,80})'|"
    # glog's CHECK ends its process
    r"(?:what\(\): +|(?=Check failed: \S))(?P<message>\S.*))"
)
CUT_LEAST, NAME_MOST = 5, 25
"""Letters of a name that are enough to know it by, and of the longest of all."""
USAGE_ERROR = "usage error"
"""What stands in the place of an exception's type where a script did not come to run."""


def named_in(text: str, *, inside: bool) -> tuple[str, str] | None:
    """Return type and message of the exception that a line names."""
    match = RAISED.match(text) if inside else NAMED.search(text)
    if match is None and inside:
        match = NAMED.search(text)
    if match is not None and PYTHONS.match(text):
        return USAGE_ERROR, text
    if match is not None:
        return match["type"].rpartition(".")[2], _bare(match["message"] or "")
    if usage := USAGE.match(text):
        return USAGE_ERROR, usage["message"].strip("│ ")
    if native := NATIVE.match(text):
        return (native["type"] or "C++ exception").rpartition("::")[2], native["message"] or ""
    return None


def _bare(message: str) -> str:
    """Return a message without what quotes the line that it stands in; a word that it quotes itself stays so."""
    message = message.strip(" │|*")
    return message.strip("` ") if message.count("`") % 2 else message


def begins_name(text: str) -> bool:
    """Return whether a line is the beginning of the name of one of Python's exceptions, and the rest was cut off."""
    if not (CUT_LEAST <= len(text) < NAME_MOST and text[0].isupper() and text.isalpha()):
        return False
    return any(name.startswith(text) and name != text for name in vars(builtins) if name.endswith("Error"))


def bare_name(lines: Sequence[Line], number: int) -> tuple[str, str] | None:
    """Return type and message of an exception that ends a traceback of which the top was cut off."""
    bare = BARE.match(lines[number].text)
    above = lines[number - 1] if number else None
    if bare is None or above is None or not above.text or above.indent <= lines[number].indent:
        return None
    return bare["type"].rpartition(".")[2], ""
