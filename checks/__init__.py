"""What gpudoctor knows: one failure, one file; no machinery."""
