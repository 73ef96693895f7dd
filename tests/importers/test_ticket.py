"""The report inside a ticket survives what issue trackers, mail and browsers do to it."""

import html

import pytest

from gpudoctor.facts import Launch, Raised, Torch
from gpudoctor.importers import Unreadable
from gpudoctor.model import Evidence, Finding, Severity
from gpudoctor.render.json import encode
from gpudoctor.render.markdown import ticket
from gpudoctor.report import Report, Status, Verdict

NASTY = 'a "quoted" <b>&amp; </details> ``` \\ \u2028 \U0001f600 {"schema": "gpudoctor.report/1"} [rank0]: >'


def make(version="0.1.0"):
    finding = Finding(
        id="port-in-use",
        family="network",
        title="The port is taken",
        severity=Severity.ERROR,
        message=NASTY,
        evidence=[Evidence("```json\n{", "train.log:1", 3)],
        page="docs/checks/port-in-use.md",
    )
    return Report(
        version=version,
        verdict=Verdict(
            status=Status.BROKEN, primary="port-in-use", sentence="Most likely cause: port-in-use."
        ),
        findings=[finding],
        facts={
            "torch": Torch(imported=False, error=Raised(type="OSError", message=NASTY, traceback="a\nb\n")),
            "launch": Launch(variables={"NCCL_DEBUG": "INFO", "LD_LIBRARY_PATH": " /a:/b  "}),
        },
    )


def wrap(text):
    return "\n".join(line[i : i + 80] for line in text.split("\n") for i in range(0, max(len(line), 1), 80))


def every_line(prefix):
    return lambda text: "\n".join(prefix + line for line in text.split("\n"))


CARRIED = {
    "as it is": lambda text: text,
    "quoted": every_line("> "),
    "quoted twice": every_line("> > "),
    "quoted without a blank": every_line(">"),
    "indented": every_line("    "),
    "indented by tabs": every_line("\t"),
    "indented by a browser": every_line("\xa0\xa0"),
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "CR": lambda text: text.replace("\n", "\r"),
    "HTML": html.escape,
    "HTML but quotes": lambda text: html.escape(text, quote=False),
    "HTML, quoted": lambda text: html.escape(every_line("> ")(text)),
    "in a log": every_line("2026-03-04T05:06:07.1234567Z "),
    "rank": every_line("[rank0]: "),
    "wrapped": wrap,
    "surrounded": lambda text: f"Hi,\n\n```\n{{\n}}\n```\nsee:\n\n{text}\n\n```json\n{{}}\n```\n-- \nbye }}",
}


@pytest.mark.parametrize("carry", CARRIED.values(), ids=CARRIED.keys())
def test_a_ticket_survives_its_way(carry, read_text):
    report = make()
    imported = read_text(carry(ticket(report)))
    assert imported.snapshot.facts == report.facts
    assert imported.report == report


@pytest.mark.parametrize("fence", ["```", "~~~", "````"])
def test_any_fence_does(fence, read_text):
    text = f"<details>\n\n{fence}json\n{encode(make())}{fence}\n\n</details>\n\nand }} prose"
    assert read_text(text).snapshot.facts == make().facts


def test_a_copy_from_a_web_page_has_no_fences(read_text):
    assert read_text(f"The whole report\n\n{encode(make())}\ngpudoctor 0.1.0").report == make()


def test_of_several_reports_the_last_whole_one_counts(read_text):
    first, second = ticket(make("0.1.0")), ticket(make("0.2.0"))
    cut = ticket(make("0.3.0"))
    cut = cut[: cut.index('"facts"')]
    for text in (f"{first}\n\nlater:\n{second}", f"{first}\n{second}\n{cut}", f"{cut}\n```\n{second}"):
        report = read_text(text).report
        assert report is not None
        assert report.version == "0.2.0"


def test_a_ticket_that_is_cut_off_says_so(read_text):
    text = ticket(make())
    with pytest.raises(Unreadable, match="the report in this ticket is cut off or damaged"):
        read_text(text[: text.index('"facts"')])


def test_a_ticket_of_a_newer_gpudoctor_says_so(read_text):
    text = ticket(make()).replace("gpudoctor.report/1", "gpudoctor.report/7")
    with pytest.raises(
        Unreadable, match=r"schema gpudoctor.report/7: this gpudoctor reads gpudoctor.report/1"
    ):
        read_text(text)


def test_the_word_alone_is_no_report(read_text):
    with pytest.raises(Unreadable, match="neither a gpudoctor report nor collect_env output"):
        read_text("its schema is gpudoctor.report/1, they say")


def test_a_ticket_without_its_report_still_has_its_environment(read_text):
    text = ticket(make())
    snapshot = read_text(text[: text.index("<details>")]).snapshot
    torch = snapshot.get(Torch)
    assert torch is not None
    assert torch.imported is False
