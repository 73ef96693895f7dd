"""unrecognised-error: `gpudoctor explain` makes it of the first exception that no check knows."""

from gpudoctor.model import Source
from gpudoctor.registry import Registry

CHECK = Registry().check("unrecognised-error")


def test_no_symptom_and_no_fact_shows_it():
    assert CHECK.symptoms == ()
    assert Source.ENVIRONMENT not in CHECK.functions
    assert Source.LOG not in CHECK.functions


def test_every_fix_can_be_tried_as_it_stands():
    assert all("<" not in fix.summary + fix.command for fix in CHECK.fixes)
