"""object-unpicklable: seen in logs."""

MESSAGE = "an object was to be sent to other ranks, and cannot be pickled: "
FRAMES = (
    '  File "/opt/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 4462, in all_gather_object\n'
    "    input_tensor, local_size = _object_to_tensor(\n"
    '  File "/opt/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 4349, in _object_to_tensor\n'
    "    _pickler(f).dump(obj)\n"
)
EXAMPLES = {
    FRAMES + "TypeError: cannot pickle '_thread.lock' object": MESSAGE + "_thread.lock",
    FRAMES + "TypeError: can't pickle _thread.lock objects": MESSAGE + "_thread.lock",
    FRAMES + "TypeError: cannot pickle 'generator' object": MESSAGE + "generator",
    FRAMES + "AttributeError: Can't pickle local object 'f.<locals>.Config'": MESSAGE + "f.<locals>.Config",
    FRAMES + "AttributeError: Can't get local object 'f.<locals>.Config'": MESSAGE + "f.<locals>.Config",
    FRAMES
    + "_pickle.PicklingError: Can't pickle <function <lambda> at 0x7f04>: attribute lookup <lambda> on __main__ failed": (
        MESSAGE + "<lambda>"
    ),
    FRAMES + "TypeError: h5py objects cannot be pickled": MESSAGE + "h5py objects",
}
POPEN = '  File "/opt/lib/python3.11/multiprocessing/popen_spawn_posix.py", line 47, in _launch\n'
SAVE = '  File "/opt/lib/python3.11/site-packages/torch/serialization.py", line 628, in save\n'
NOT_THIS = [
    "TypeError: cannot pickle '_thread.lock' object",
    f"{POPEN}TypeError: cannot pickle '_thread.lock' object",
    f"{SAVE}AttributeError: Can't pickle local object 'main.<locals>.Net'",
]
