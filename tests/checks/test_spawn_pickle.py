"""spawn-pickle: seen in logs."""

FRAME = """  File "/opt/conda/lib/python3.11/multiprocessing/reduction.py", line 60, in dump
    ForkingPickler(file, protocol).dump(obj)
"""
MESSAGE = "a process is started with something that cannot be sent to it"
EXAMPLES = {
    "AttributeError: Can't get attribute 'worker' on <module '__main__' (built-in)>": "a process is started with something that cannot be sent to it: worker",
    '  File "D:\\Conda\\cut\\lib\\multiprocessing\\spawn.py", line 115, in _main\n    self = reduction.pickle.load(from_parent)\nEOFError: Ran out of input': "a process is started with something that cannot be sent to it",
    '  File "/opt/py310/lib/python3.10/multiprocessing/spawn.py", line 126, in _main\n    self = reduction.pickle.load(from_parent)\n_pickle.UnpicklingError: pickle data was truncated': MESSAGE,
    "TypeError: self.dims,self.dims_chunk,self.maxdims cannot be converted to a Python object for pickling": (
        MESSAGE + ": self.dims,self.dims_chunk,self.maxdims"
    ),
    "AttributeError: Can't pickle local object 'main.<locals>.<lambda>'": (
        MESSAGE + ": main.<locals>.<lambda>"
    ),
    "AttributeError: Can't get local object 'build.<locals>.Wrapped'": MESSAGE + ": build.<locals>.Wrapped",
    f"{FRAME}_pickle.PicklingError: Can't pickle local object <function main.<locals>.<lambda> at 0x7f04>": (
        MESSAGE + ": main.<locals>.<lambda>"
    ),
    "_pickle.PicklingError: Can't pickle <function <lambda> at 0x7f041835fb00>: attribute lookup <lambda> on __main__ failed": (
        MESSAGE + ": <lambda>"
    ),
    "_pickle.PicklingError: Can't pickle <class '__main__.Batch'>: attribute lookup Batch on __main__ failed": (
        MESSAGE + ": __main__.Batch"
    ),
    "_pickle.PicklingError: Can't pickle <function g at 0x7f04>: it's not the same object as __main__.g": (
        MESSAGE + ": g"
    ),
    f"{FRAME}TypeError: cannot pickle '_thread.lock' object": MESSAGE + ": _thread.lock",
    f"{FRAME}TypeError: can't pickle _thread.lock objects": MESSAGE + ": _thread.lock",
    f"{FRAME}TypeError: cannot pickle 'Environment' object": MESSAGE + ": Environment",
    f"{FRAME}TypeError: h5py objects cannot be pickled": MESSAGE + ": h5py objects",
    f"{FRAME}TypeError: no default __reduce__ due to non-trivial __cinit__": MESSAGE,
    (
        '  File "/opt/conda/lib/python3.11/multiprocessing/spawn.py", line 132, in _main\n'
        "AttributeError: Can't get attribute 'Images' on <module '__main__' (built-in)>"
    ): MESSAGE + ": Images",
    (
        "RuntimeError: Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
        "crossing process boundaries."
    ): MESSAGE,
    "RuntimeError: A SemLock created in a fork context is being shared with a process in a spawn context. This is not supported.": MESSAGE,
    (
        "UserWarning: Got pickle error when attempting to start a worker Process. This might be because the worker Process "
        "arguments are not picklable."
    ): MESSAGE,
    "TypeError: The pool forwards its functions to a spawned child process, so they must be picklable.": (
        "a process is started with something that cannot be sent to it"
    ),
    "TypeError: cannot pickle 'module' object": "a process is started with something that cannot be sent to it: module",
}
SAVE = '  File "/opt/conda/lib/python3.11/site-packages/torch/serialization.py", line 628, in save\n'
NOT_THIS = [
    '  File "spawn.py", line 115, in _main\n    self = reduction.pickle.load(from_parent)\nEOFError: Ran out of input\nMemoryError: 12',
    "EOFError: Ran out of input",
    f"{SAVE}AttributeError: Can't pickle local object 'main.<locals>.Net'",
    f"{SAVE}TypeError: cannot pickle '_thread.lock' object",
    f"{SAVE}AttributeError: Can't get attribute 'Net' on <module '__main__' from 'test.py'>",
    "EOFError: Ran out of input",
]
