"""Ask the kernel whether a time service keeps its clock: ``adjtimex`` of the C library, which reads without root."""

import ctypes
import sys

from gpudoctor.facts import Clock

deadline = 5.0
_UNSYNCHRONIZED = 0x40  # STA_UNSYNC, linux/timex.h
_ERROR = 5  # TIME_ERROR: the clock is not synchronized


class _Timex(ctypes.Structure):
    """``struct timex`` up to what is read, with room for the rest."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_char * 512),
    )


def probe() -> Clock:
    """Read the kernel's state of the clock; nothing is set, for no mode is asked for."""
    if not sys.platform.startswith("linux"):
        raise OSError("only Linux tells it")
    library = ctypes.CDLL(None, use_errno=True)
    state = _Timex()
    answer = library.adjtimex(ctypes.byref(state))
    if answer < 0:
        raise OSError(ctypes.get_errno(), "adjtimex")
    return Clock(synchronized=not (answer == _ERROR or state.status & _UNSYNCHRONIZED))
