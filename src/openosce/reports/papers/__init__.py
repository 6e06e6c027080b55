"""What papers printed, and the same figures recomputed from a run, cell by cell."""

from openosce.reports.papers.comparison import PaperComparison, compare_to_paper, paper_sheets

__all__ = ["PaperComparison", "compare_to_paper", "paper_sheets"]
