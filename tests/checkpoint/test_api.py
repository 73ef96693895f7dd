"""What the package gives at its top: four functions, imported when they are asked for."""

import os
import subprocess
import sys

import pytest

from gpudoctor import checkpoint
from gpudoctor.checkpoint.comparison.target import compare
from gpudoctor.checkpoint.description.survey import describe
from gpudoctor.checkpoint.formats.reader import read
from gpudoctor.checkpoint.repair.copy import fix


def test_its_functions_are_those_of_the_rooms():
    assert checkpoint.read is read
    assert checkpoint.describe is describe
    assert checkpoint.compare is compare
    assert checkpoint.fix is fix
    assert [name for name in checkpoint.__all__ if not callable(getattr(checkpoint, name))] == []
    with pytest.raises(AttributeError, match="no attribute 'mend'"):
        checkpoint.mend


def test_a_room_that_is_imported_takes_no_function_s_place():
    rooms = {name for name in os.listdir(os.path.dirname(checkpoint.__file__)) if "." not in name}
    assert not {room.partition(".")[0] for room in rooms} & set(checkpoint.__all__)


def test_importing_it_imports_no_room_and_reading_neither_comparing_nor_fixing():
    code = (
        "import sys, gpudoctor.checkpoint as c; own = lambda: {n.split('.')[2] for n in sys.modules "
        "if n.startswith('gpudoctor.checkpoint.')}; print(sorted(own())); c.read; print(sorted(own()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "['formats', 'pickle', 'tree']"]
