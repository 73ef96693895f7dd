"""The scripts that run under the patient's interpreter: standard library and torch, Python 3.8 or newer.

They are read as text and run by path; nothing imports them. A script that learns facts prints marked lines,
``gpudoctor {"topic": "torch", "facts": {...}}``; a later line of the same topic replaces an earlier one, so that what
was learnt before a crash survives it, and ``gpudoctor {"doing": "import torch"}`` names what is about to be tried. A
script that says so says ``done`` last: one that ends before was ended by what it tried.
"""
