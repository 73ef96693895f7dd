"""Exceptions in logs: which was raised, by whom, where in the user's own code."""

import pytest

from gpudoctor import explain
from gpudoctor.logs.lines import read_lines
from gpudoctor.logs.raised import CUT_BEHIND
from gpudoctor.logs.tracebacks import exceptions, quoted_source
from gpudoctor.model import Severity


def read(text, name="x"):
    return read_lines(list(enumerate(text.split("\n"), 1)), name)


def said(text):
    return [(r.type, r.message) for r in exceptions(read(text))]


PLAIN = """\
step 3
Traceback (most recent call last):
  File "/home/user/train.py", line 12, in <module>
    main()
  File "/home/user/train.py", line 8, in main
    raise ValueError("not this one")
  File "/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1, in _call_impl
    return forward_call(*args)
           ^^^^^^^^^^^^^^^^^^^
mylib.errors.ShapeProblem: too wide
and a second line of it
"""


def test_type_message_and_the_last_frame_that_is_the_users_own():
    (raised,) = exceptions(read(PLAIN))
    assert (raised.type, raised.message) == ("ShapeProblem", "too wide")
    assert (raised.own.path, raised.own.line, raised.own.function) == ("/home/user/train.py", 8, "main")
    assert (raised.line.number, raised.first, raised.last) == (10, 1, 10)


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "[rank1]:V0306 22:17:59.702000 139967781041280 torch/_dynamo/symbolic_convert.py:516] [0/0_1] [__graph_breaks] ",
    ],
)
@pytest.mark.parametrize(
    "heading", ["from user code:", "User code traceback:", "Graph break: from user code at:"]
)
def test_the_code_that_dynamo_shows_raised_nothing(heading, prefix):
    rows = [heading, '   File "fit.py", line 3, in f', "    if x.sum() > 0:", "       ^^^^^^^^^^^", "step 4"]
    assert said("\n".join(prefix + row for row in rows)) == []


def test_the_code_in_dynamo_s_message_belongs_to_it():
    text = PLAIN.replace(
        "and a second line", '    # File "t.py", line 3, in f, code: y = x + 1\n  Hint: use less\nand'
    )
    assert said(text) == [("ShapeProblem", "too wide")]


@pytest.mark.parametrize(("last", "found"), [("ModuleNotFo", 1), ("Done", 0), ("Saved the model", 0)])
def test_a_log_may_end_within_the_name_of_an_exception(last, found):
    frames = "".join(f'  File "a.py", line {n}, in f{n}\n    g()\n' for n in (1, 2, 3))
    assert len(exceptions(read(f"{frames}{last}"))) == found


@pytest.mark.parametrize(
    "prefix", ["[rank3]: ", "> ", "2026-03-04T05:06:07.1Z ", "# ", "[default3]:", "(Worker pid=3) "]
)
def test_prefixes_on_every_line_change_nothing(prefix):
    text = "\n".join(prefix + line for line in PLAIN.split("\n"))
    (raised,) = exceptions(read(text))
    assert (raised.type, raised.own.line) == ("ShapeProblem", 8)


def test_ranks_that_interleave_are_told_apart():
    lines = PLAIN.strip().split("\n")[1:-1]
    other = [line.replace("too wide", "too high") for line in lines]
    mixed = "\n".join(
        f"[rank{rank}]: {line}" for pair in zip(lines, other, strict=True) for rank, line in enumerate(pair)
    )
    assert [(r.message, r.line.rank) for r in exceptions(read(mixed))] == [("too wide", 0), ("too high", 1)]


def test_an_exception_raised_while_another_is_handled_is_chained():
    text = PLAIN + "\nDuring handling of the above exception, another exception occurred:\n\n" + PLAIN
    assert [r.chained for r in exceptions(read(text))] == [False, True]


def test_what_python_ignores_at_exit_is_late():
    text = "Exception ignored in: <function Loader.__del__ at 0x7f>\n" + PLAIN.split("\n", 1)[1]
    assert [r.late for r in exceptions(read(text))] == [True]


def test_exceptions_without_a_traceback_and_of_native_code():
    assert said("so it said: ValueError: bad batch") == [("ValueError", "bad batch")]
    assert said("# KeyError: 'loss'") == [("KeyError", "'loss'")]
    assert said("terminate called after throwing an instance of 'c10::Error'\n  what():  cannot do") == [
        ("C++ exception", "cannot do"),
    ]
    assert said("terminate called after throwing an instance of 'c10::Error'") == [("Error", "")]
    assert said("train.py: error: unrecognized arguments: --foo") == [
        ("usage error", "train.py: error: unrecognized arguments: --foo")
    ]
    for usage in (
        "pretrain: error: argument --precision: invalid choice: 'fp16' (choose from 'bf16', 'fp32')",
        "Error: No such option: --epoch",
    ):
        assert said(usage) == [("usage error", usage)]
    missing = "/opt/venv/bin/python3.8: No module named torch.distributed.run"
    assert said(missing) == [("usage error", missing)]
    assert said("Warning: nothing\nloss: 0.3\nValidation Error rate 3 %") == []


def test_the_words_of_other_processes_are_read():
    text = """\
torch.multiprocessing.spawn.ProcessRaisedException:

-- Process 1 terminated with the following error:
Traceback (most recent call last):
  File "/home/user/train.py", line 3, in worker
    f()
KeyError: 'x'"""
    assert [(r.type, r.wrapper) for r in exceptions(read(text)) if not r.wrapper] == [("KeyError", False)]
    text = (
        "StopIteration: Caught StopIteration in replica 0 on device 0.\nOriginal Traceback (most recent call last):\n"
        + PLAIN
    )
    assert ("ShapeProblem", "too wide") in said(text)


def test_an_exception_group_names_its_members():
    text = """\
  + Exception Group Traceback (most recent call last):
  |   File "/home/user/a.py", line 1, in <module>
  | ExceptionGroup: several (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/home/user/a.py", line 2, in f
    | ValueError: inner
    +------------------------------------"""
    assert ("ValueError", "inner") in said(text)


def test_quoted_source_is_no_error():
    lines = read(PLAIN)
    assert [lines[place].text for place in sorted(quoted_source(lines))] == [
        "main()",
        'raise ValueError("not this one")',
        "return forward_call(*args)",
        "^^^^^^^^^^^^^^^^^^^",
    ]


def test_what_a_forked_loader_says_while_it_is_thrown_away_ends_nobody():
    text = (
        "Epoch 1:   3%|3         | 1/29 [00:00<00:21,  1.32it/s]      Exception ignored in: <function __del__ at 0x7f>\n"
        "Traceback (most recent call last):\n"
        '  File "/opt/venv/lib/python3.11/site-packages/torch/utils/data/dataloader.py", line 1479, in __del__\n'
        "    self._shutdown_workers()\n"
        "AssertionError: can only test a child process\n"
    )
    assert [raised.late for raised in exceptions(read(text))] == [True]
    [cut] = exceptions(read("AssertionError: can only test a child process\nEpoch 4: 10%|1 | 1/10"))
    assert cut.late


def test_the_line_of_the_user_is_that_of_the_exception_which_a_cause_was_turned_into():
    (finding,) = explain(
        'Traceback (most recent call last):\n  File "/usr/lib/python3.11/site-packages/pandas/core/indexes/base.py", line 3812, '
        'in get_loc\n    return self._engine.get_loc(key)\n  File "pandas/_libs/index.pyx", line 167, in get_loc\n'
        "KeyError: 'Exited'\n\nThe above exception was the direct cause of the following exception:\n\n"
        'Traceback (most recent call last):\n  File "/home/me/fit.py", line 5, in <module>\n    y = df["Exited"]\n'
        "KeyError: 'Exited'\n"
    ).findings
    assert finding.message == "KeyError: 'Exited', raised below /home/me/fit.py line 5 in <module>"
    assert finding.evidence[1].text.endswith('df["Exited"]')


def test_what_a_failed_program_said_is_quoted_beside_the_exception_that_passes_it_on():
    (finding,) = explain(
        "extract\na/1.mp4: moov atom not found\n"
        'Traceback (most recent call last):\n  File "/home/me/prep.py", line 4, in <module>\n    run(check=True)\n'
        "subprocess.CalledProcessError: Command '['ffmpeg']' returned non-zero exit status 3.\n"
    ).findings
    assert "a/1.mp4: moov atom not found" in [evidence.text for evidence in finding.evidence]


@pytest.mark.parametrize("prefix", ["", "[rank0]: "])
def test_an_exception_without_a_message_below_the_end_of_a_cut_traceback(prefix):
    cut = ["    assert metadata is not None", "           ^^^^^^^^^^^^^^^^^^^^", "torch.AssertionError"]
    assert said("".join(f"{prefix}{line}\n" for line in cut)) == [("AssertionError", "")]
    assert (
        said("".join(f"{prefix}{line}\n" for line in ("  seen so far:", "Error"))) == []
    )  # a name of more than that
    assert said(f"{prefix}step 3\n{prefix}ValueError\n") == []  # no source stands above it


def test_the_fault_handlers_stack_names_the_users_own_line():
    text = (
        "Fatal Python error: Segmentation fault\n\nThread 0x00007f0000000000 (most recent call first):\n"
        '  File "/home/me/other.py", line 9 in wait\n\nCurrent thread 0x00007f33558abb80 (most recent call first):\n'
        '  File "/usr/lib/python3.12/ctypes/__init__.py", line 519 in string_at\n'
        '  File "/home/me/op.py", line 2 in look\n  File "/home/me/fit.py", line 7 in <module>\n'
    )
    (finding,) = explain(text).findings
    assert finding.id == "child-segfault"
    assert finding.evidence[-1].text == 'File "/home/me/op.py", line 2'
    assert finding.location is not None
    assert (finding.location.path, finding.location.line) == ("/home/me/op.py", 2)
    (finding,) = explain(text.replace("/home/me", "/usr/lib/python3.12")).findings
    assert finding.location is None


def test_the_plain_exception_is_one_at_the_beginning_of_a_line_alone():
    assert said("╰──────╯\nException: expected value at line 1 column 1") == [
        ("Exception", "expected value at line 1 column 1")
    ]
    assert said("handled Exception: no cache\nno Exception: fine") == []


def test_what_a_module_of_exceptions_holds_is_one_whatever_it_is_called():
    assert said("mylib.exc.Unsupported: a call of print") == [("Unsupported", "a call of print")]
    assert said("subprocess.TimeoutExpired: Command 'x' timed out") == [
        ("TimeoutExpired", "Command 'x' timed out")
    ]
    assert said("my.exceptions.Refused: no seat\nStopIteration: Caught in replica 0") == [
        ("Refused", "no seat"),
        ("StopIteration", "Caught in replica 0"),
    ]
    assert said("see mylib.exc.Unsupported: a call\nmylib.layers.Linear: 3 of them") == []


@pytest.mark.parametrize(("code", "failed"), [("2", True), ("no file a.yaml", True), ("0", False)])
def test_a_notebook_names_the_exit_of_its_program(code, failed):
    text = f"An exception has occurred, use %tb to see the full traceback.\n\nSystemExit: {code}\n"
    assert [f.message for f in explain(text).findings] == ([f"SystemExit: {code}"] if failed else [])


def test_blanks_may_stand_between_an_exception_and_its_message():
    assert said("    assert name in state, (\nAssertionError    : name is missing") == [
        ("AssertionError", "name is missing")
    ]


def test_ray_names_in_brackets_what_it_passes_on():
    text = '  File "/v/ray/worker.py", line 8, in get\n    raise value.as_cause()\nray.exceptions.RayTaskError(ActorDiedError): ray::A.fit()'
    (raised,) = exceptions(read(text))
    assert (raised.type, raised.wrapper) == ("RayTaskError(ActorDiedError)", True)


OLD_NOTEBOOK = """\
---------------------------------------------------------------------------
RuntimeError                              Traceback (most recent call last)
<ipython-input-12-3f0c8ae1> in <module>
      4 model = Net()
----> 5 fit(model, loader)

/home/me/work/engine.py in fit(model, loader)
     40     for batch in loader:
---> 41         loss = step(model, batch)
     42         loss.backward()

~/env/lib/python3.8/site-packages/torch/nn/modules/module.py in _call_impl(self, *input, **kwargs)
--> 726             result = self.forward(*input, **kwargs)
"""
NOTEBOOK = """\
RuntimeError                              Traceback (most recent call last)
Cell In[12], line 5
----> 5 fit(model, loader)

File ~/work/engine.py:41, in fit(model, loader)
     39     for batch in loader:
---> 41         loss = step(model, batch)

RuntimeError: the flux is not a capacitor
"""


@pytest.mark.parametrize(
    ("text", "message", "path"),
    [
        (OLD_NOTEBOOK, CUT_BEHIND, "/home/me/work/engine.py"),
        (OLD_NOTEBOOK + "\nRuntimeError: the flux is gone\n", "the flux is gone", "/home/me/work/engine.py"),
        (NOTEBOOK, "the flux is not a capacitor", "~/work/engine.py"),
    ],
)
def test_a_notebook_s_traceback_names_the_exception_above_its_frames(text, message, path):
    (raised,) = exceptions(read(text))
    assert (raised.type, raised.message, raised.caught) == ("RuntimeError", message, False)
    assert (raised.own.path, raised.own.line, raised.own.text) == (path, 41, "loss = step(model, batch)")


def test_a_cell_is_the_user_s_own_code():
    (raised,) = exceptions(
        read(
            "KeyError   Traceback (most recent call last)\nCell In[3], line 7\n----> 7 rows['a']\n\nKeyError: 'a'"
        )
    )
    assert (raised.own.path, raised.own.line, raised.own.text) == ("Cell In[3]", 7, "rows['a']")


def test_a_notebook_s_traceback_that_is_cut_off_is_a_failure():
    report = explain(
        "File ~/work/engine.py:41, in fit(model)\n     40     if bad:\n---> 41         raise ValueError(\n     42             'no'\n"
    )
    assert report.findings[0].id == "unrecognised-error"
    assert explain("File /data/list.txt:3, in all\nepoch 1 loss 0.5\n").findings == []


@pytest.mark.parametrize("word", ["Exception has occurred", "发生异常"])
def test_a_debugger_shows_the_innermost_frame_first(word):
    text = (
        f"{word}: builtins.RuntimeError\nthe flux is no capacitor\n"
        '  File "/home/me/fit.py", line 40, in main\n    step(model)\n'
        '  File "/home/me/fit.py", line 98, in <module>\n    main()\n'
    )
    (raised,) = exceptions(read(text))
    assert (raised.type, raised.message, raised.caught) == ("RuntimeError", "the flux is no capacitor", False)
    assert (raised.own.line, raised.own.text) == (40, "step(model)")


@pytest.mark.parametrize(
    "top",
    [
        (
            "ValueError                                Traceback (most recent call last)\n"
            "/tmp/ipykernel_9/1234.py in <cell line: 2>()\n      1 rows = load()\n----> 2 fit(rows)\n"
            "      3 print ('all done')\n\n/opt/lib/engine.py in fit(rows)\n"
        ),
        # Colab's, without the words above it
        (
            "[/content/fit.py](https://localhost:8080/#) in <cell line: 0>(rows)\n      1 rows = load()\n"
            "----> 2 fit(rows)\n\n[/opt/lib/engine.py](https://localhost:8080/#) in fit(rows)\n"
        ),
    ],
)
def test_the_frames_of_cells_and_links_are_a_notebook_s(top):
    text = (
        top + "   1040     if rows.bad:\n-> 1041         raise ValueError(\n   1042             'not done'\n"
    )
    (raised,) = exceptions(read(text))
    assert (raised.frames[-1].path, raised.frames[-1].line) == ("/opt/lib/engine.py", 1041)
    assert explain(text).findings[0].severity is Severity.ERROR


def test_a_second_copy_of_a_traceback_that_is_cut_off_is_the_same_failure():
    head = 'Traceback (most recent call last):\n  File "/home/me/fit.py", line 9, in <module>\n    fit()\n'
    whole = f"{head}ValueError: sampler option is mutually exclusive with shuffle\n"
    report = explain(f"Initialising\nDone initialising\n{whole}{head}")
    assert [(x.id, x.severity) for x in report.findings] == [("sampler-shuffle-conflict", Severity.ERROR)]
    other = head.replace("line 9", "line 12")
    _, last = exceptions(read(whole + other))
    assert [frame.line for frame in last.frames] == [12]


def test_a_frame_alone_is_a_traceback_of_which_the_rest_was_cut_off():
    (finding,) = explain(
        '  File "/home/me/fit.py", line 14, in train\n    loss = criterion(model(x), y)\n'
    ).findings
    assert (finding.id, finding.severity) == ("unrecognised-error", Severity.ERROR)
    assert "line 14 in train" in finding.message


def test_the_last_line_of_source_names_what_was_raised():
    cut = '  File "/home/me/fit.py", line 1, in go\n    raise data.ShardError(\n'
    assert said(cut) == [("ShardError", "its message is not here: the log ends inside its traceback")]


def test_what_asyncio_cancelled_took_too_long():
    chain = (
        'Traceback (most recent call last):\n  File "/home/me/fit.py", line 3, in get\n    await read()\n'
        "asyncio.exceptions.CancelledError\n\nThe above exception was the direct cause of the following exception:\n\n"
        'Traceback (most recent call last):\n  File "/home/me/fit.py", line 9, in <module>\n    asyncio.run(main())\nTimeoutError\n'
    )
    assert explain(chain).findings[0].message.startswith("TimeoutError")


@pytest.mark.parametrize(
    ("line", "raised"),
    [
        ("EOFError: no more rows", ("EOFError", "no more rows")),
        ("E       EOFError: no more rows", ("EOFError", "no more rows")),
        ("`EOFError: no more rows`", ("EOFError", "no more rows")),
        ("TypeError: `size` must be a number", ("TypeError", "`size` must be a number")),
        ("**TypeError: too few**", ("TypeError", "too few")),
    ],
)
def test_a_name_and_a_message_keep_their_first_letters(line, raised):
    text = (
        'Traceback (most recent call last):\n  File "/home/me/fit.py", line 3, in <module>\n    fit()\n'
        + line
    )
    assert said(text) == [raised]


@pytest.mark.parametrize(
    ("halves", "kind"),
    [
        ("Index\nError: the list ends here", "IndexError"),
        ("my.errors.Data\nsetException: empty", "DatasetException"),
    ],
)
def test_a_name_that_a_terminal_cut_in_two_is_whole(halves, kind):
    text = f'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    f()\n{halves}\n'
    [raised] = exceptions(read(text))
    assert raised.type == kind


def test_a_message_that_was_cut_in_a_word_is_known():
    text = "x" * 400 + " RuntimeError: CUDA error: an illeg\nal memory access was encountered\n"
    assert explain(text).verdict.primary == "illegal-memory-access"


def test_an_exception_that_somebody_quotes_is_one():
    report = explain("'LookupError: the table has no such row'.\n")
    assert "LookupError: the table has no such row" in report.findings[0].message


RAISED_IN_LIBRARY = (
    "Building the model\nepoch 0 step 1 loss 2.71\nTraceback (most recent call last):\n"
    '  File "/srv/fit.py", line 9, in <module>\n    restore(run)\n'
    '  File "/opt/env/lib/python3.11/site-packages/kit/restore.py", line 3, in restore\n    raise ValueError(\n'
)


@pytest.mark.parametrize(
    "below",
    [
        "Names that are known: ['tower.weight', 'tower.bias']\n",
        "tower of the file: torch.Size([16, 64])\ntower of the model: torch.Size([8, 64])\n",
        "  left: [8, 64]\n  right: [16, 64]\n",
        "asked for (8, 64)\nfound in /srv/run/tower.safetensors\n",
    ],
)
@pytest.mark.parametrize("above", ["", RAISED_IN_LIBRARY])
def test_lists_and_shapes_below_an_exception_are_the_rest_of_its_message(above, below):
    report = explain(f"{above}ValueError: the towers of the run do not fit together.\n{below}")
    assert [(f.id, f.severity) for f in report.findings] == [("unrecognised-error", Severity.ERROR)]


@pytest.mark.parametrize("below", ["accuracy: 0.913\n", "epoch 2 loss 0.4\n", "/srv/run/tower.pt\n"])
def test_results_below_an_exception_are_no_part_of_its_message(below):
    report = explain(f"ValueError: the towers of the run do not fit together.\n{below}")
    assert report.worst() is not Severity.ERROR
