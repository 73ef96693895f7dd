"""Copy between every two devices, and compare what arrives with what was sent.

Run: python peer_copies.py '{"devices": ["cuda:0", "cuda:1"], "pairs": [[0, 1], [1, 0]], "bytes": 67108864}'

A copy that does not come back within ``patience`` seconds ends the process with status 3; the last pair that was
named is the one.
"""

import json
import os
import sys
import threading
import time

STUCK = 3
POISON = -7
ROUNDS = 3


def tell(message):
    text = json.dumps(message, ensure_ascii=False)
    os.write(1, ("\ngpudoctor " + text + "\n").encode("utf-8", "replace"))


def synchronize(torch, *devices):
    for device in devices:
        if device.type == "cuda":
            torch.cuda.synchronize(device)


def pattern(torch, elements, seed, device="cpu"):
    """Return numbers that are all different: data that lands in the wrong place is found, too."""
    return torch.arange(1, elements + 1, dtype=torch.int64, device=device) + seed * elements


def compare(torch, received, sent):
    """Return how many elements are wrong, and words for the first of them."""
    wrong = torch.nonzero(received != sent).flatten()
    if not len(wrong):
        return 0, ""
    at = int(wrong[0])
    got = int(received[at])
    was = "the value from before the copy" if got == POISON else str(got)
    return len(wrong), "element {} is {} and was sent as {}".format(at, was, int(sent[at]))


def verify(torch, source, target, elements, rounds=ROUNDS):
    """Send patterns from one device to the other, and read them back on the host."""
    found = {"wrong_elements": 0, "checked_elements": 0, "sample": ""}
    for number in range(rounds):
        sent = pattern(torch, elements, number)
        here = sent.to(source)
        if compare(torch, here.cpu(), sent)[0]:
            raise RuntimeError("what the sending GPU got from the host is wrong already")
        there = torch.full((elements,), POISON, dtype=torch.int64, device=target)
        synchronize(torch, source, target)
        there.copy_(here)
        synchronize(torch, source, target)
        wrong, sample = compare(torch, there.cpu(), sent)
        found["wrong_elements"] += wrong
        found["checked_elements"] += elements
        found["sample"] = found["sample"] or sample
    return found


def speed(torch, source, target, elements, rounds=8):
    """Return the GB/s of the fastest of several copies."""
    here = torch.ones(elements, dtype=torch.int64, device=source)
    there = torch.empty(elements, dtype=torch.int64, device=target)
    best = 0.0
    for number in range(rounds + 2):
        synchronize(torch, source, target)
        begun = time.perf_counter()
        there.copy_(here)
        synchronize(torch, source, target)
        seconds = time.perf_counter() - begun
        if number >= 2:  # the first ones warm up
            best = max(best, elements * 8 / seconds / 1e9)
    return best


def peer_access(torch, source, target):
    if source.type != "cuda":
        return None
    try:
        return bool(torch.cuda.can_device_access_peer(source, target))
    except Exception:
        return None


def watched(seconds):
    """End this process unless the timer is cancelled: a copy that hangs cannot be ended in another way."""
    timer = threading.Timer(seconds, os._exit, [STUCK])
    timer.daemon = True
    timer.start()
    return timer


def copy(torch, devices, first, second, request):
    source, target = devices[first], devices[second]
    found = {"source": first, "target": second, "peer_access": peer_access(torch, source, target)}
    timer = watched(request.get("patience", 10))
    try:
        found.update(verify(torch, source, target, request["bytes"] // 8))
        found["speed"] = speed(torch, source, target, request["bytes"] // 8)
    except Exception as error:
        found["error"] = str(error).strip().split("\n")[0][:300]
    finally:
        timer.cancel()
    tell({"copy": found})


def main(request):
    tell({"doing": "import torch"})
    import torch

    devices = [torch.device(name) for name in request["devices"]]
    for first, second in request["pairs"]:
        tell({"doing": "copy from GPU {} to GPU {}".format(first, second), "pair": [first, second]})
        copy(torch, devices, first, second, request)
    tell({"doing": "done"})


if __name__ == "__main__":
    main(json.loads(sys.argv[2] if len(sys.argv) > 2 else sys.argv[1]))
    os._exit(0)  # all is told; what torch does on the way out costs time and may hang
