"""Versions, as far as they can be compared."""

import pytest

from gpudoctor.facts import parsed_version


def test_versions_are_compared_as_numbers() -> None:
    older, newer = parsed_version("2.9.1+cu128"), parsed_version("2.15.0a0+git1234")
    assert older is not None
    assert newer is not None
    assert older < newer


@pytest.mark.parametrize("text", [None, "", "nightly", "2.9.1-custom build"])
def test_what_cannot_be_compared_is_not_known(text: str | None) -> None:
    assert parsed_version(text) is None
