"""Logs of every launcher with private words planted in them: hosts, users, mail addresses, folders, tokens.

The files of private_logs hold one log behind the other, each with places such as ``<host>`` that get a private word of
their own. The forms are those that the launchers, NCCL, c10d, schedulers, shells and loggers print.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["Planted", "planted"]

FOLDER = Path(__file__).parent / "private_logs"
LOG = re.compile(r"^##### (\w+)\n", re.MULTILINE)

PLACE = re.compile(r"<(host|user|mail|site|folder|token|ip|pod)(\d?)>")
HOSTS = (
    "gpunode{:02}",
    "dgx-a100-{:02}",
    "cn{:04}",
    "r07u{:02}",
    "trn-{:03}",
    "hpc{:03}g4",
    "quasar{}",
    "bluefin-{}",
    "n{:03}ib",
)
OTHER_HOSTS = (
    "p4de-{:03}",
    "kraken{}",
    "c{:02}b07n02",
    "sxm{:03}",
    "node-{:03}x",
    "ml-train-{:02}",
    "zephyr",
    "orca-gpu{}",
    "juwels{:02}i",
)
USERS = (
    "jdoe mkowalski anowak hschmidt twatanabe ksingh lrossi pdupont ebjork fzhang rgarcia obrien7 svetlana chenwei nguyent"
    " iyer2 bakker jkim94 mlopez dpatel acohen yilmaz tfischer knguyen wsmith okafor hansenp vmurphy qliu gpapadakis"
).split()
SITES = (
    "acmecorp.com helios-labs.io northwind.ai cs.uni-arden.edu bigbank.co.uk hpc.larkspur.org zenrobotics.cn physik.tu-elbe.de"
    " vantage.tech corvid.net meridianbio.com oaktree.systems polaris.local quillon.lan"
).split()
FOLDERS = (
    "secret_llm falcon-next medimg-v3 projectx42 drugdisc voicegen blackbird churn_model earnings-nlp sat-seg"
    " protfold9 chatbot_de lidar-fusion adrank tradingrl skunkworks mri-recon genomics_eu unicornlm patentqa"
).split()


class Planted(NamedTuple):
    """One log, and the private words in it."""

    launcher: str
    text: str
    words: dict[str, str]
    """By their places, such as ``host2``."""


def planted(file: str, seed: int) -> Iterator[Planted]:
    """Put private words into the logs of a file, each log other ones; `seed` chooses which."""
    pieces = LOG.split((FOLDER / file).read_text())[1:]
    logs = list(zip(pieces[::2], pieces[1::2], strict=True))
    hosts = OTHER_HOSTS if seed % 2 else HOSTS
    number = 3 + 131 * seed
    for at, (launcher, text) in enumerate(logs):
        words: dict[str, str] = {}
        for match in PLACE.finditer(text):
            place, kind = match[0][1:-1], match[1]
            if place not in words:
                number += 1
                words[place] = _word(kind, number, at + 5 * seed, hosts)
        yield Planted(launcher, PLACE.sub(lambda m: words[m[0][1:-1]], text), words)


def _word(kind: str, number: int, at: int, hosts: tuple[str, ...]) -> str:
    user, other = USERS[number % len(USERS)], USERS[(number * 7 + 3) % len(USERS)]
    if kind == "host":
        return hosts[number % len(hosts)].format(number)
    if kind == "user":
        return user + str(number)
    if kind == "mail":
        return f"{other}.{number}@{SITES[at % len(SITES)]}"
    if kind == "site":
        return SITES[at % len(SITES)]
    if kind == "folder":
        return f"{FOLDERS[number % len(FOLDERS)]}{number}"
    if kind == "token":
        return f"hf_{'QxWvTrPzKm' * 3}{number:04}"
    if kind == "ip":
        return f"10.{number % 250}.{at + 3}.{(number * 3) % 250}"
    assert kind == "pod", kind
    return f"{FOLDERS[number % len(FOLDERS)].replace('_', '-')}-{number}-worker-{at}"
