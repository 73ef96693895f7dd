"""numpy-abi: seen in logs."""

EXAMPLES = [
    "A module that was compiled using NumPy 1.x cannot be run in",
    "UserWarning: Failed to initialize NumPy: _ARRAY_API not found (Triggered internally at tensor_numpy.cpp:77.)",
    "RuntimeError: Numpy is not available",
    "ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from C header, got 88",
    "RuntimeError: module compiled against API version 0xe but this version of numpy is 0xd",
    "AttributeError: _ARRAY_API not found",
    "ImportError: numpy.core.multiarray failed to import",
]
NOT_THIS = [
    "UserWarning: Failed to initialize NumPy: No module named 'numpy' (Triggered internally at tensor_numpy.cpp:84.)"
]
