"""Findings of scripts as SARIF 2.1.0 (OASIS), which code scanning of GitHub and others take."""

from typing import Any
from urllib.parse import quote

from gpudoctor.model import Finding
from gpudoctor.render.annotations import ordered
from gpudoctor.render.json import indented
from gpudoctor.render.source_lines import own_line
from gpudoctor.report import CheckStatus, Report

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif(report: Report) -> str:
    """Write one run with the rules that were broken, each finding, and what could not be read or crashed."""
    findings = ordered(report)
    rules = list({finding.id: finding for finding in findings}.values())
    numbers = {rule.id: number for number, rule in enumerate(rules)}
    crashed = list(report.with_status(CheckStatus.CRASHED))
    code = report.facts.get("code")
    said = [
        *(f"{result.what} crashed: {result.reason}" for result in crashed),
        *(code.unread if code else ()),
    ]
    run = {
        "tool": {
            "driver": {
                "name": "gpudoctor",
                "version": report.version,
                "rules": [_rule(rule) for rule in rules],
            }
        },
        # Columns of a finding are those of ast, which count UTF-8 bytes; they are turned into characters here.
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not crashed,
                "toolExecutionNotifications": [
                    {"level": "warning", "message": {"text": text}} for text in said
                ],
            }
        ],
        "results": [_result(finding, numbers[finding.id]) for finding in findings],
    }
    return indented({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(finding: Finding) -> dict[str, Any]:
    return {
        "id": finding.id,
        "shortDescription": {"text": finding.title},
        "help": {"text": f"gpudoctor show {finding.id}"},
        "properties": {"tags": [finding.family]},
    }


def _result(finding: Finding, rule: int) -> dict[str, Any]:
    at, own = finding.location, own_line(finding)
    assert at is not None
    path, _, cell = at.path.partition(":cell ")
    place: dict[str, Any] = {"artifactLocation": {"uri": quote(path, safe="/-_.~+@=")}}
    if not cell:
        column = len(own.text.encode()[: at.column - 1].decode(errors="ignore")) + 1 if own else at.column
        place["region"] = {"startLine": at.line, "startColumn": column}
        if own is not None:
            place["region"]["snippet"] = {"text": own.text}
    result: dict[str, Any] = {
        "ruleId": finding.id,
        "ruleIndex": rule,
        "level": finding.severity.value,
        "message": {"text": f"{at.path}: {finding.message}" if cell else finding.message},
        "locations": [{"physicalLocation": place}],
    }
    return result
