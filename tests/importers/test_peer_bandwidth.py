"""CUDA's own matrix of bandwidths between GPUs."""

from gpudoctor.facts import PeerCopy

TEXT = """\
P2P Connectivity Matrix
     D\\D     0     1
     0\t     1     1
     1\t     1     1
Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 912.11   7.31
     1   7.28 913.20
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1
     0 911.90   0.02
     1   0.03 913.07
Bidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 915.40   9.11
     1   9.10 915.33
"""


def test_copies_with_peer_access(facts_of):
    assert facts_of(TEXT)["measurements"].copies == [
        PeerCopy(source=0, target=1, speed=0.02, peer_access=True),
        PeerCopy(source=1, target=0, speed=0.03, peer_access=True),
    ]


def test_without_peer_access_there_is_nothing_to_judge(facts_of):
    told = facts_of(
        TEXT.replace("P2P=Enabled", "P2P=Disabled") + "RANK=0\nWORLD_SIZE=1\nCUDA_VISIBLE_DEVICES=0\n"
    )
    assert "measurements" not in told
