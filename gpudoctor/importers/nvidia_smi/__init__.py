"""What nvidia-smi prints, as it stands in a pasted text: its table, its lists, its matrices and its refusals."""

from gpudoctor.importers.nvidia_smi.listing import listed, with_whole_names
from gpudoctor.importers.nvidia_smi.nvlinks import read as read_nvlinks
from gpudoctor.importers.nvidia_smi.query import read as read_query
from gpudoctor.importers.nvidia_smi.query_csv import read as read_csv
from gpudoctor.importers.nvidia_smi.query_csv import read_processes
from gpudoctor.importers.nvidia_smi.query_xml import read as read_xml
from gpudoctor.importers.nvidia_smi.refusals import Refusal
from gpudoctor.importers.nvidia_smi.refusals import read as read_refusal
from gpudoctor.importers.nvidia_smi.table import Table
from gpudoctor.importers.nvidia_smi.table import read as read_table
from gpudoctor.importers.nvidia_smi.topology import read as read_pairs

__all__ = [
    "Refusal", "Table", "listed", "read_csv", "read_nvlinks", "read_pairs", "read_processes", "read_query",
    "read_refusal", "read_table", "read_xml", "with_whole_names",
]  # fmt: skip
