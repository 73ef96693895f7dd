"""What Python's fault handler wrote: where it was, and that it need not be switched on any more."""

from gpudoctor import explain

CRASH = "Fatal Python error: Segmentation fault\n"
STACK = """
Current thread 0x00007fe4d7dbab80 (most recent call first):
  File "/home/me/ops.py", line 9 in attention
  File "/home/me/train.py", line 40 in <module>
"""


def commands(log):
    return [fix.command for fix in explain(log).findings[0].fixes]


def switched_on(log):
    return any("PYTHONFAULTHANDLER" in command for command in commands(log))


def test_the_handler_is_offered_where_it_did_not_speak():
    assert switched_on("Segmentation fault (core dumped)\n")
    assert switched_on(CRASH)


def test_and_not_where_its_stack_is_there():
    assert not switched_on(CRASH + STACK)
    assert not switched_on(CRASH + STACK.replace("Current thread", "Thread"))


def test_other_fixes_stay():
    assert [c for c in commands(CRASH) if "PYTHONFAULTHANDLER" not in c] == commands(CRASH + STACK)
