"""``kubectl describe pod``: containers that were killed."""

POD = """\
Containers:
  trainer:
    State:          {state}
    Last State:     Terminated
      Reason:       {reason}
      Exit Code:    137
"""


def test_killed_without_a_reason(facts_of):
    found = facts_of(POD.format(state="Waiting", reason="Error"))["kubernetes"]
    assert (found.oom_killed, found.sigkilled) == ([], {"trainer": False})
    assert facts_of(POD.format(state="Running", reason="Error"))["kubernetes"].sigkilled == {"trainer": True}


def test_the_reason_is_said_once(facts_of):
    found = facts_of(POD.format(state="Running", reason="OOMKilled"))["kubernetes"]
    assert (found.oom_killed, found.sigkilled) == (["trainer"], {})
