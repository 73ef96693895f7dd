"""Findings of scripts as JUnit's XML, for what shows test results: a suite for each file, a failure each."""

import re
from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from gpudoctor.model import Finding
from gpudoctor.render.annotations import ordered
from gpudoctor.render.source_lines import place
from gpudoctor.report import CheckStatus, Report, Result

# What XML 1.0 cannot hold, not even escaped.
_NO_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(report: Report) -> str:
    """Write the suites; a report without a finding has one test that passed: a file without tests is refused."""
    findings = ordered(report)
    crashed = list(report.with_status(CheckStatus.CRASHED))
    top = _suite(
        None, "testsuites", "gpudoctor lint", len(findings) + len(crashed) or 1, len(findings), len(crashed)
    )
    for path, group in groupby(findings, lambda f: f.location.path if f.location else ""):
        own = list(group)
        suite = _suite(top, "testsuite", path, len(own), len(own), 0)
        for finding in own:
            _failure(suite, finding)
    if crashed or not findings:
        suite = _suite(top, "testsuite", "gpudoctor", len(crashed) or 1, 0, len(crashed))
        for result in crashed:
            _crash(suite, result)
        if not crashed:
            SubElement(suite, "testcase", name=_text(report.verdict.sentence), classname="gpudoctor")
    indent(top, " ")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(top, encoding="unicode") + "\n"


def _suite(above: Element | None, tag: str, name: str, tests: int, failures: int, errors: int) -> Element:
    counts = {"tests": str(tests), "failures": str(failures), "errors": str(errors)}
    given = {"name": _text(name), **counts}
    return Element(tag, given) if above is None else SubElement(above, tag, given)


def _failure(suite: Element, finding: Finding) -> None:
    at = finding.location
    assert at is not None
    case = SubElement(suite, "testcase", name=f"{finding.id} {at.line}:{at.column}", classname=_text(at.path))
    said = {"type": finding.severity.value, "message": _text(finding.message)}
    SubElement(case, "failure", said).text = _text(f"{place(at)}: {finding.title}")


def _crash(suite: Element, result: Result) -> None:
    case = SubElement(suite, "testcase", name=_text(result.what), classname="gpudoctor")
    SubElement(case, "error", message=_text(result.reason or ""))


def _text(text: str) -> str:
    return _NO_XML.sub("?", text)
