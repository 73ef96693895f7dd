"""Print what the CUDA driver library answers, each call named before it is made: it may hang, or end the process."""

import os
import sys

# A file named json.py or struct.py in the working folder or on PYTHONPATH must not break this script.
try:
    here = os.getcwd()
except OSError:  # it was deleted
    here = ""
own = {"", here} | set(os.environ.get("PYTHONPATH", "").split(os.pathsep))
sys.path[:] = [e for e in sys.path if e not in own or os.path.exists(os.path.join(e, "os.py"))]
import ctypes
import json

VISIBLE = "CUDA_VISIBLE_DEVICES"
MAJOR, MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR, cuda.h

facts = {}


def tell(message):
    # Names of files may hold bytes that are no UTF-8; Python keeps such a byte as a lone surrogate.
    text = json.dumps(message, ensure_ascii=False)
    os.write(1, ("\ngpudoctor " + text + "\n").encode("utf-8", "replace"))


def stage(name):
    """Say what is called next, after everything that is known so far."""
    facts["stage"] = name
    tell({"topic": "cuda", "facts": facts})
    tell({"doing": name})


def mapped(stem):
    """Return the file that was loaded under a name, as the kernel maps it."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as lines:
            for line in lines:
                path = line.rstrip("\n").partition("/")[2]
                if os.path.basename(path).startswith(stem):
                    return "/" + path
    except OSError:
        pass
    return None


def load():
    """Load the library by the name by which the CUDA runtime does."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        facts["error"] = str(error)
        return None
    facts["library"] = mapped("libcuda.so") or "libcuda.so.1"
    return library


def number(library, function):
    """Return what a function gives through its one pointer; None where it fails or is not there."""
    value = ctypes.c_int()
    try:
        return value.value if getattr(library, function)(ctypes.byref(value)) == 0 else None
    except AttributeError:
        return None


def device(library, ordinal):
    """Describe one device; the first call of it that fails leaves its error."""
    found = {"ordinal": ordinal}
    handle = ctypes.c_int()
    name, address = ctypes.create_string_buffer(256), ctypes.create_string_buffer(64)
    major, minor, memory = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t()
    calls = (
        ("cuDeviceGet", ctypes.byref(handle), ordinal),
        ("cuDeviceGetName", name, 256, handle),
        ("cuDeviceGetPCIBusId", address, 64, handle),
        ("cuDeviceGetAttribute", ctypes.byref(major), MAJOR, handle),
        ("cuDeviceGetAttribute", ctypes.byref(minor), MINOR, handle),
        ("cuDeviceTotalMem_v2", ctypes.byref(memory), handle),
    )
    for function, *arguments in calls:
        try:
            code = getattr(library, function)(*arguments)
        except AttributeError:
            continue
        if code:
            found["error"] = code
            break
    found["name"] = name.value.decode("utf-8", "replace")
    found["pci_address"] = address.value.decode("utf-8", "replace").lower()
    if major.value:
        found["capability"] = "%d.%d" % (major.value, minor.value)
    if memory.value:
        found["memory_bytes"] = memory.value
    return found


def devices(library):
    return [device(library, ordinal) for ordinal in range(number(library, "cuDeviceGetCount") or 0)]


def visible():
    """Ask with CUDA_VISIBLE_DEVICES as it is set, in a process of its own: a process reads it once."""
    out, into = os.pipe()
    if os.fork() == 0:
        try:
            library = ctypes.CDLL("libcuda.so.1")
            code = library.cuInit(0)
            answer = {"visible_init": code, "visible": None if code else devices(library)}
            os.write(into, json.dumps(answer).encode())
        finally:
            os._exit(0)
    os.close(into)
    return out


def describe():
    asked = visible() if os.environ.get(VISIBLE) is not None else None
    os.environ.pop(VISIBLE, None)
    stage("dlopen(libcuda.so.1)")
    library = load()
    if library is None:
        return
    stage("cuDriverGetVersion")
    version = number(library, "cuDriverGetVersion")
    if version:
        facts["version"] = "%d.%d" % (version // 1000, version % 1000 // 10)
    stage("cuInit")
    facts["init"] = library.cuInit(0)
    if facts["init"] == 0:
        stage("cuDeviceGetCount")
        facts["count"] = number(library, "cuDeviceGetCount")
        stage("cuDeviceGet")
        facts["devices"] = devices(library)
    if asked is not None:
        stage("cuInit")
        with os.fdopen(asked, "rb") as answer:
            told = answer.read()
        if told:
            facts.update(json.loads(told.decode()))


describe()
stage("done")
os._exit(0)  # all is told; what the driver does on the way out may hang
