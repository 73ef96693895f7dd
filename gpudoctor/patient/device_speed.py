"""Measure one device: copies from and to the host, its memory, matrix products, and the clocks while those run.

Run: python device_speed.py '{"device": "cuda:0", "seconds": 3, "bytes": 268435456, "turn": "FILE"}'

On the CPU it measures the host's own memory and matrix product. What is told last replaces what was told before.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import sys
import threading
import time

GB = 1e9
ROUNDS = 8
# nvmlClocksEventReasons of nvml.h, in the words of gpudoctor's facts.
REASONS = {
    0x2: "applications_clocks_setting",
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
}

facts = {}


def tell(message):
    text = json.dumps(message, ensure_ascii=False)
    os.write(1, ("\ngpudoctor " + text + "\n").encode("utf-8", "replace"))


def stage(doing):
    tell({"device": facts})
    tell({"doing": doing})


def synchronize(torch, device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def timed(torch, device, work):
    """Return the seconds that some work takes until the device has done it."""
    synchronize(torch, device)
    begun = time.perf_counter()
    work()
    synchronize(torch, device)
    return time.perf_counter() - begun


def shortest(torch, device, work, rounds=ROUNDS):
    """Return the shortest time of several rounds; the first two, which are not counted, warm up."""
    for _ in range(2):
        work()
    return min(timed(torch, device, work) for _ in range(rounds))


def host_copies(torch, device, size):
    """Measure the link between host and device, in GB/s each way."""
    pinned = torch.empty(size, dtype=torch.uint8, pin_memory=device.type == "cuda")
    pinned.fill_(1)
    there = torch.empty(size, dtype=torch.uint8, device=device)
    to_device = shortest(torch, device, lambda: there.copy_(pinned, non_blocking=True))
    to_host = shortest(torch, device, lambda: pinned.copy_(there, non_blocking=True))
    return size / to_device / GB, size / to_host / GB


def memory_copy(torch, device, size):
    """Measure a copy inside the device's memory: what it reads and what it writes, in GB/s together."""
    source = torch.ones(size, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * size / shortest(torch, device, lambda: target.copy_(source)) / GB


def matrix_type(torch, device):
    """Return the type in which this device multiplies fastest and which training uses."""
    if device.type != "cuda":
        return torch.float32
    major, minor = torch.cuda.get_device_capability(device)
    if getattr(torch.version, "hip", None) or major >= 8:
        return torch.bfloat16
    return torch.float16 if (major, minor) >= (7, 0) else torch.float32


def matrix_products(torch, device, kind, size, seconds):
    """Multiply for some seconds, and return the TFLOPS of the second half: what gets hot has slowed by then."""
    left = torch.randn(size, size, dtype=torch.float32, device=device).to(kind)
    right = torch.randn(size, size, dtype=torch.float32, device=device).to(kind)
    out = torch.empty_like(left)

    def products():
        for _ in range(10 if device.type == "cuda" else 1):
            torch.mm(left, right, out=out)

    products()
    times = []
    ends = time.monotonic() + seconds
    while time.monotonic() < ends or len(times) < 4:
        times.append(timed(torch, device, products))
    half = times[len(times) // 2 :]
    operations = 2.0 * size**3 * (10 if device.type == "cuda" else 1)
    return operations * len(half) / sum(half) / 1e12


def exact_products(torch, device, kind, size, rounds=4, rows=16):
    """Multiply matrices of -1, 0 and 1, and return how many elements are wrong, of how many.

    Such a product is exact in every order of the sums (float32 inside), and what the result's type makes of a whole
    number is one thing alone: the host's product of some rows must be equal to the last bit.
    """
    wrong = checked = 0
    generator = torch.Generator().manual_seed(1)
    for number in range(rounds):
        left = torch.randint(-1, 2, (size, size), generator=generator, dtype=torch.int8).to(torch.float32)
        right = torch.randint(-1, 2, (size, size), generator=generator, dtype=torch.int8).to(torch.float32)
        made = torch.mm(left.to(device).to(kind), right.to(device).to(kind)).cpu()
        chosen = torch.arange(rows) * (size // rows) + number % max(1, size // rows)
        wanted = torch.mm(left[chosen], right).to(kind)
        different = differing(made[chosen], wanted)
        wrong += different
        checked += wanted.numel()
    return wrong, checked


def differing(made, wanted):
    """Return in how many elements two tensors differ; a NaN differs from everything."""
    return int((made != wanted).sum())


class Violation(ctypes.Structure):
    """nvmlViolationTime_t: when it was asked, in microseconds, and the time in violation, in nanoseconds."""

    _fields_ = [("reference", ctypes.c_ulonglong), ("time", ctypes.c_ulonglong)]


# nvmlPerfPolicyType_t: what held the GPU below its application clocks.
POLICIES = {"power": 0, "thermal": 1, "board_limit": 3, "reliability": 5}


class Clocks(threading.Thread):
    """Sample a GPU's clocks by NVML until told to stop; without NVML there are no samples."""

    def __init__(self, library, handle):
        super().__init__(daemon=True)
        self.library, self.handle = library, handle
        self.enough = threading.Event()
        self.clocks, self.reasons, self.samples = [], {}, 0
        self.temperature = self.power = None
        self.begun, self.before = time.monotonic(), self.violations()

    def violations(self):
        """Return for how many nanoseconds each policy has held the clocks down since the driver was loaded."""
        found = {}
        for name, number in POLICIES.items():
            value = Violation()
            try:
                answer = self.library.nvmlDeviceGetViolationStatus(self.handle, number, ctypes.byref(value))
            except AttributeError:
                return {}
            if answer == 0:
                found[name] = value.time
        return found

    def violated(self):
        """Return the share of the time since the beginning in which each policy held the clocks down."""
        seconds = max(time.monotonic() - self.begun, 0.001)
        after = self.violations()
        shares = {n: (after[n] - self.before[n]) / 1e9 / seconds for n in after if n in self.before}
        return {name: round(min(share, 1.0), 3) for name, share in shares.items() if share > 0}

    def ask(self, name, kind, *arguments):
        """Return what an NVML call gives, or None where it gives nothing."""
        value = kind()
        try:
            answer = getattr(self.library, name)(self.handle, *arguments, ctypes.byref(value))
        except AttributeError:  # a library too old, or too new, for that name
            return None
        return value.value if answer == 0 else None

    def sample(self):
        clock = self.ask("nvmlDeviceGetClockInfo", ctypes.c_uint, 1)  # NVML_CLOCK_SM
        mask = self.ask("nvmlDeviceGetCurrentClocksEventReasons", ctypes.c_ulonglong)
        if mask is None:  # its name before driver 535
            mask = self.ask("nvmlDeviceGetCurrentClocksThrottleReasons", ctypes.c_ulonglong)
        temperature = self.ask("nvmlDeviceGetTemperature", ctypes.c_uint, 0)
        power = self.ask("nvmlDeviceGetPowerUsage", ctypes.c_uint)
        if clock is not None:
            self.clocks.append(clock)
        if mask is not None:
            self.samples += 1
            for bit, words in REASONS.items():
                if mask & bit:
                    self.reasons[words] = self.reasons.get(words, 0) + 1
        if temperature is not None:
            self.temperature = max(temperature, self.temperature or 0)
        if power is not None:
            self.power = max(power / 1000.0, self.power or 0.0)

    def run(self):
        while not self.enough.wait(0.1):
            self.sample()

    def told(self):
        """Return what was sampled, by the names of gpudoctor's facts."""
        self.enough.set()
        self.join(2)
        return {
            "sm_clocks": self.clocks[-200:],
            "sm_clock_max": self.ask("nvmlDeviceGetMaxClockInfo", ctypes.c_uint, 1),
            "throttled": {words: round(n / self.samples, 3) for words, n in self.reasons.items()},
            "temperature_celsius": self.temperature,
            "power_watts": self.power,
            "violations": self.violated(),
        }


def clocks(address):
    """Return a sampler of the GPU at a PCI address, or None without an NVML that knows it."""
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
        handle = ctypes.c_void_p()
        if library.nvmlInit_v2() != 0:
            return None
        if library.nvmlDeviceGetHandleByPciBusId_v2(address.encode(), ctypes.byref(handle)) != 0:
            return None
        return Clocks(library, handle)
    except (OSError, AttributeError):
        return None


def pci_address(properties):
    """Return the address as the kernel writes it, or nothing where this torch does not tell."""
    numbers = [getattr(properties, "pci_%s_id" % part, None) for part in ("domain", "bus", "device")]
    return "" if None in numbers else "{:04x}:{:02x}:{:02x}.0".format(*numbers)


def stay_near(address):
    """Run on the processors of the GPU's own node: a copy across sockets measures the wrong link."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        with open("/sys/bus/pci/devices/%s/local_cpulist" % address) as file:
            near = processors(file.read())
        mine = os.sched_getaffinity(0)
        os.sched_setaffinity(0, near & mine or mine)


def processors(text):
    """Return the numbers in the kernel's lists: ``0-3,8`` is 0, 1, 2, 3 and 8."""
    found = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


@contextlib.contextmanager
def turn(path, patience=15):
    """Wait until no other process measures a link: they share switches and the host's memory."""
    if not path:
        yield
        return
    ends = time.monotonic() + patience
    with open(path, "a") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > ends:
                    raise RuntimeError("another GPU's copies did not end in %d s" % patience) from None
                time.sleep(0.02)
        yield


def describe(torch, device):
    if device.type != "cuda":
        facts.update(ordinal=-1)
        return
    properties = torch.cuda.get_device_properties(device)
    facts.update(ordinal=device.index, name=properties.name, pci_address=pci_address(properties))


def measure_memory(torch, device, request):
    if device.type == "cuda":
        stage("copies from and to the host")
        stay_near(facts["pci_address"])
        with turn(request.get("turn")):
            there, back = host_copies(torch, device, request["bytes"])
        facts.update(host_to_device=there, device_to_host=back)
    stage("memory")
    facts["memory"] = memory_copy(torch, device, request["bytes"] * (4 if device.type == "cuda" else 1))


def measure_products(torch, device, request):
    kind = matrix_type(torch, device)
    # Sums of a product that are rounded in between would be neither exact nor reproducible.
    for name in ("bf16", "fp16"):
        with contextlib.suppress(AttributeError):  # torch before 1.13 knows one of them alone
            setattr(torch.backends.cuda.matmul, "allow_%s_reduced_precision_reduction" % name, False)
    stage("matrix product")
    sampler = clocks(facts["pci_address"]) if facts.get("pci_address") else None
    if sampler is not None:
        sampler.start()
    speed = matrix_products(torch, device, kind, request["matrix"], request["seconds"])
    facts.update(matrix_product=speed, matrix_type=str(kind).rpartition(".")[2])
    if sampler is not None:
        facts.update(sampler.told())
    stage("products with a known result")
    wrong, checked = exact_products(torch, device, kind, min(request["matrix"], 4096))
    facts.update(wrong_elements=wrong, checked_elements=checked)


def attempt(part, torch, device, request):
    """Measure one part; that it cannot be measured does not end the others."""
    try:
        part(torch, device, request)
    except Exception as error:
        tell({"missing": part.__name__.rpartition("_")[2], "why": str(error).strip().split("\n")[0][:300]})


def main(request):
    tell({"doing": "import torch"})
    import torch

    device = torch.device(request["device"])
    describe(torch, device)
    for part in (measure_memory, measure_products):
        attempt(part, torch, device, request)
        if device.type == "cuda":
            torch.cuda.empty_cache()
    stage("done")


if __name__ == "__main__":
    main(json.loads(sys.argv[2] if len(sys.argv) > 2 else sys.argv[1]))
    os._exit(0)  # all is told; what torch does on the way out costs time and may hang
