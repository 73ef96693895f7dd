"""What the kernel says of its clock."""

import sys

import pytest

from gpudoctor.probes import clock


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells it")
def test_the_kernel_answers():
    assert clock.probe().synchronized in (True, False)


def test_elsewhere_it_is_not_known(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(OSError, match="only Linux"):
        clock.probe()
