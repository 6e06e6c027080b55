"""WHAT WE TELL: the results of a run as JSON, as tables, as a figure, as one self-contained page."""

from openosce.reports.analysis import analyze_run
from openosce.reports.figure import accuracy_figure
from openosce.reports.page import write_report
from openosce.reports.results import Analysis
from openosce.reports.table import analysis_tables, terminal
from openosce.reports.transcript import transcript

__all__ = ["Analysis", "accuracy_figure", "analysis_tables", "analyze_run", "terminal", "transcript", "write_report"]
