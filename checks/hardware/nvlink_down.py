"""NVLink connections between GPUs are down.

## What happens

NCCL says "P2P is disabled between NVLINK connected GPUs 1 and 0 … probably due to a hardware issue" and ends with a
system error. `nvidia-smi nvlink -s` shows "Link 3: <inactive>" or "all links are inActive". Where nothing fails, data
goes over PCIe instead, many times slower.

## Why

| what is down | most likely |
| --- | --- |
| one link | a cable, a bridge or a lane |
| all links of one GPU | that GPU or its board |
| all links of all GPUs | the fabric manager or the driver (`fabric-manager-down`) |

A link that does not come up again after an error is a fault of the hardware until a reset proves otherwise.

## How to tell

Compare the GPUs: `nvidia-smi nvlink -s` and `nvidia-smi topo -m`; two SXM GPUs with `SYS` or `NODE` where the others
have `NV12` or `NV18` lost their links. PCIe cards without a bridge, the unused links of a bridge, and GPUs in MIG mode
are inactive without a fault. `nvidia-smi topo -p2p n` shows whether peer access works.

## See also

- [NCCL 2329](https://github.com/NVIDIA/nccl/issues/2329): the message; NCCL stops there instead of going around such a link
- [NVIDIA's health checks: NVLink](https://docs.nvidia.com/health-validation/reference/checks/nvlink): links that are inactive, and what to do with the node
"""

from collections import Counter
from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, Symptom, count
from gpudoctor.facts import Cuda, Gpu, Gpus, Pci, gpu_model

MIG = r"MIG M(?:ode|\.)?[\s\S]{0,80}Enabled|\bMIG \d+g\."
# A card has links where a bridge joins it to another one; tools that count the chip's links call the others down.
CARD = r"\b[AH][128]00[\w -]{0,12}\bPCI-?[Ee]\b|\b(?:GeForce|Quadro|TITAN|RTX) |NVIDIA (?:A10|A16|A30|A40|L4|L40S?)\b|\b(?i:without|no) (?i:nvlink)\b(?! (?:connection|traffic|activity))"

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning on a board that is not complete, as virtual machines have",
    words_stand=True,
    symptoms=[
        r"\bNETIR_LINK_DOWN\b",
        r"P2P is disabled between NVLINK connected GPUs (?P<gpu>\d+) and (?P<peer>\d+)",
        Symptom(r"\bLink (?P<link>\d+): <?[iI]n[aA]ctive\b", unless=f"{MIG}|{CARD}"),
        Symptom(
            r"Unable to retrieve N[Vv][Ll]ink information as all links are in[aA]ctive",
            unless=f"{MIG}|{CARD}",
        ),
        Symptom(r"GPU (?P<gpu>\d+) has (?:all )?nvlinks inactive", unless=CARD),
        r"GPU (?P<gpu>\d+): [1-9]\d* inactive NVLinks",
        Symptom(r"GPU (?P<gpu>\d+)'s NvLink link (?P<link>\d+) is currently down", unless=CARD),
        Symptom(r"DCGM_FR_(?:NVLINK_DOWN|GPU_EXPECTED_NVLINKS_UP|NVSWITCH_NVLINK_DOWN)", unless=CARD),
        r"knvlinkDiscoverPostRxDetLinks\w*: Getting peer\d+'s postRxDetLinkMask failed",
    ],
    message="NVLink is down[ (link <link>)][ on GPU <gpu>][ towards GPU <peer>]: GPUs talk over PCIe or not at all",
    follows=["fabric-manager-down", "nvlink-errors", "gpu-fell-off-bus"],
    fixes=[
        Fix("Compare the links of all GPUs", "nvidia-smi nvlink -s; nvidia-smi topo -m"),
        Fix(
            "On a cluster: leave this node out, and send the administrators its name and that output",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix(
            "With NVSwitch: start the fabric manager again, then reset all GPUs, with nothing running",
            "sudo systemctl restart nvidia-fabricmanager && sudo nvidia-smi --gpu-reset",
            Kind.ADMIN,
        ),
        Fix(
            "Reseat the bridge, switch the node's power off and on, or have the board exchanged",
            kind=Kind.ADMIN,
        ),
        Fix(
            "Let NCCL do without it, which is many times slower",
            "export NCCL_IGNORE_DISABLED_P2P=1",
            Kind.MITIGATION,
        ),
    ],
    no_reproduction="needs an NVLink that fails",
)

SYSTEM_NOT_READY = 802
MATRIX_LEAST = 3
"""GPUs that are all joined to each other: more than a bridge joins. The rest of a matrix says less."""
FULL_BOARDS = (8, 16)
PAIRED = " NVL"
"""H100 NVL and H200 NVL: "2- or 4-way NVIDIA NVLink bridge" (data sheets)."""
CARD_BRIDGE = 2
"""A bridge between two cards has two links or four: their number is even."""


@check.environment
def environment(gpus: Gpus, pci: Pci | None, cuda: Cuda | None) -> Iterator[Finding]:
    """A GPU has fewer links up than its siblings, or none of a board's GPUs has any."""
    if gpus.error and not gpus.devices:
        if pci is not None and not pci.usable:
            return  # there is no GPU
        raise CannotTell(gpus.error)
    if gpus.fabric_waits or (cuda is not None and cuda.init == SYSTEM_NOT_READY):
        return  # the links come up when the fabric manager runs
    linked = [gpu for gpu in gpus.devices if gpu.nvlinks_active is not None and not gpu.mig]
    if not linked:
        yield from _apart(gpus)
        return
    if pci is None and len(linked) == 1 and linked[0].board:
        yield from _alone(linked[0], len(gpus.devices) > 1)
        return
    switched = bool(pci and pci.switches)
    boards = [gpu for gpu in linked if gpu.board]
    cards = [gpu for gpu in linked if not gpu.board]
    most = Counter(dict.fromkeys({gpu.name for gpu in linked}, 0))
    for gpu in linked:
        most[gpu.name] = max(most[gpu.name], gpu.nvlinks_active or 0)
    if boards and not any(most[gpu.name] for gpu in boards):
        if switched or len(boards) > 1:
            yield _all_down(boards, switched)
        return
    for gpu in boards:
        # Behind NVSwitches every link of the chip is used; elsewhere a GPU has as many as its siblings.
        should = max(len(gpu.nvlinks), most[gpu.name]) if switched else most[gpu.name]
        if (gpu.nvlinks_active or 0) < should:
            yield check.found(_fewer(gpu, should, len(boards) > 1))
    yield from _cards(cards)
    if pci is not None and len(pci.usable) == len(gpus.devices):
        yield from _without_partner(cards)


def _alone(gpu: Gpu, others: bool) -> Iterator[Finding]:
    """Look at the one GPU of a board of which a text shows the links: what its siblings have is not known.

    Where there are others, all of a board's links cannot be down; of a virtual machine with one GPU they are.
    """
    up = gpu.nvlinks_active or 0
    if up == 0 and not (others or gpu.index > 0):
        return
    down = [str(link.link) for link in gpu.nvlinks if not link.active]
    if up and not down:
        return
    shown = (
        f"{up} of {len(gpu.nvlinks)} NVLinks are up (down: {', '.join(down)})" if up else "no NVLink is up"
    )
    message = f"{gpu.place}: {shown}, and a board joins each GPU by all of them: what it exchanges with the others is slow"
    yield check.found(
        message,
        severity=Severity.WARNING,
        fixes=[Fix("Compare the links of all GPUs", "nvidia-smi nvlink -s")],
    )


def _fewer(gpu: Gpu, should: int, siblings: bool) -> str:
    down = [str(link.link) for link in gpu.nvlinks if not link.active]
    named = f" (down: {', '.join(down)})" if down and (gpu.nvlinks_active or len(down) < should) else ""
    whose = "its siblings have" if siblings else "it should have"
    return (
        f"{gpu.place}: {gpu.nvlinks_active} of its NVLinks are up{named}, {whose} {should}: what it exchanges with the "
        "others is slow, goes over PCIe, or NCCL stops"
    )


def _all_down(boards: list[Gpu], switched: bool) -> Finding:
    who = (
        "the GPU's NVLinks are" if len(boards) == 1 else f"the NVLinks of all {count(len(boards), 'GPU')} are"
    )
    why = (
        "although NVSwitches are on the bus" if switched else f"although {boards[0].name} is joined by NVLink"
    )
    message = (
        f"{who} down, {why}: GPUs talk over PCIe, many times slower; the fabric manager did not set them up"
    )
    # A virtual machine may be given some GPUs of a board without their fabric.
    whole = switched or len(boards) in FULL_BOARDS
    return check.found(message, severity=None if whole else Severity.WARNING)


def _cards(cards: list[Gpu]) -> Iterator[Finding]:
    """Look at cards, which only have links where a bridge joins them."""
    for gpu in cards:
        # All links of a bridge come up together: an odd number is a bridge that lost one.
        if gpu.nvlinks_active and gpu.nvlinks_active % CARD_BRIDGE and gpu.nvlinks_active < len(gpu.nvlinks):
            message = (
                f"{gpu.place}: {gpu.nvlinks_active} of {len(gpu.nvlinks)} NVLinks are up, and a bridge's links come up "
                "together: one of them is down"
            )
            yield check.found(message)
    joined = [gpu for gpu in cards if gpu.nvlinks_active]
    for gpu in joined:
        has = gpu.nvlinks_active or 0
        most = max(other.nvlinks_active or 0 for other in joined if other.name == gpu.name)
        model = gpu_model(gpu.name)
        if has % CARD_BRIDGE:
            continue
        if has < most:
            yield check.found(_fewer(gpu, most, siblings=True))
        elif model is not None and model.bridged and has < model.bridged:
            message = (
                f"{gpu.place}: {has} of the {model.bridged} NVLinks that its bridges join are up: a bridge is missing or "
                f"down, and copies between the two cards run at {has}/{model.bridged} of their speed"
            )
            yield check.found(message, severity=Severity.WARNING)
    yield from _unjoined(cards)


def _unjoined(cards: list[Gpu]) -> Iterator[Finding]:
    """Find cards of a model that is sold in pairs with their bridges, of which some pairs are joined and some not."""
    pairs = [gpu for gpu in cards if PAIRED in gpu.name]
    down = [gpu for gpu in pairs if not gpu.nvlinks_active]
    up = [gpu for gpu in pairs if gpu.nvlinks_active]
    if len(down) > 1 and len(up) > 1:
        named = Gpus(devices=pairs).named(down)
        message = (
            f"{named}: no NVLink is up, while {count(len(up), 'other card')} of this model, which is joined in pairs by "
            "bridges, has its links: what these exchange goes over PCIe, many times slower"
        )
        yield check.found(message, severity=Severity.WARNING)


def _without_partner(cards: list[Gpu]) -> Iterator[Finding]:
    """Find the one card whose links are up, where all cards of the machine are known: the other end is down."""
    joined = [gpu for gpu in cards if gpu.nvlinks_active]
    others = [gpu for gpu in cards if not gpu.nvlinks_active and gpu.name == joined[0].name] if joined else []
    if len(joined) == 1 and others:
        named = " or ".join(gpu.place for gpu in others[:4])
        message = (
            f"{joined[0].place} has {count(joined[0].nvlinks_active or 0, 'NVLink')} up and no other card has any: the "
            f"links of its partner ({named}) are down"
        )
        yield check.found(message)


def _apart(gpus: Gpus) -> Iterator[Finding]:
    """Find GPUs that no NVLink joins while all others are joined to each other, by the matrix alone."""
    paths = {(pair.first, pair.second): pair.path for pair in gpus.pairs}
    pairs = len(gpus.devices) * (len(gpus.devices) - 1) // 2
    boards = [gpu for gpu in gpus.devices if gpu.board]
    denied = [pair for pair in gpus.pairs if pair.nvlink is False and not pair.path.startswith("NV")]
    if len(boards) == len(gpus.devices) > 1 and len(denied) == pairs and not any(gpu.mig for gpu in boards):
        yield _all_down(boards, switched=False)
        return
    if len(gpus.devices) < 3 or len(paths) < pairs or not all(paths.values()):
        return  # the matrix may be cut off: of the rest nothing is known
    joined = {gpu.index: 0 for gpu in gpus.devices}
    for ends, path in paths.items():
        for end in ends:
            joined[end] = joined.get(end, 0) + path.startswith("NV")
    others = len(gpus.devices) - 1
    alone = [gpu for gpu in gpus.devices if not joined[gpu.index] and (gpu.board or not gpu.name)]
    if len(gpus.devices) - len(alone) < MATRIX_LEAST:
        return
    for gpu in alone:
        if len(alone) < others and all(
            joined[other.index] >= others - len(alone) for other in gpus.devices if other not in alone
        ):
            message = (
                f"{gpu.place} has no NVLink to any other GPU, while the others are joined: its links are down"
            )
            yield check.found(message)
