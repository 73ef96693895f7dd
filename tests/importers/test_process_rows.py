"""Rows of ps and top in pasted texts."""

import pytest

HEAD = "PID USER      PR  NI    VIRT    RES    SHR S  %CPU %MEM     TIME+ COMMAND\n"


@pytest.mark.parametrize(
    ("row", "stuck", "zombies"),
    [
        ("  711 eva       20   0       0      0      0 Z  99.7  0.0  17:46.89 python3", [], [711]),
        (" 4711 eva       20   0  151.2g  12.1g   1.1g D   0.0  2.4   1:46.89 pt_main_thread", [4711], []),
        ("eva      812  0.0  0.0      0     0 ?        Zl   10:02   0:00 [python] <defunct>", [], [812]),
        (
            "eva      813  0.1  1.2 9812345 81234 pts/3  D+   10:02   0:09 /opt/conda/bin/python train.py",
            [813],
            [],
        ),
        ("eva      814     1  0 10:02 ?        00:00:00 [python] <defunct>", [], [814]),
    ],
)
def test_what_the_rows_show(row, stuck, zombies, facts_of):
    rows = facts_of(f"PID USER      PR  NI    VIRT    RES    SHR S  %CPU %MEM     TIME+ COMMAND\n{row}\n")[
        "process_rows"
    ]
    assert ([p.pid for p in rows.stuck], [p.pid for p in rows.zombies]) == (stuck, zombies)


@pytest.mark.parametrize(
    "row",
    [
        "  711 eva       20   0       0      0      0 S  99.7  0.0  17:46.89 python3",
        "  712 root      20   0       0      0      0 D   0.0  0.0   0:01.02 kworker/u64:2",
        "eva      814     1  0 10:02 ?        00:00:00 python train.py -D Z",
    ],
)
def test_other_rows(row, facts_of):
    rows = facts_of(f"{HEAD}{row}\n")["process_rows"]
    assert (rows.stuck, rows.zombies) == ([], [])
