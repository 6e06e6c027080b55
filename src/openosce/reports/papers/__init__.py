"""What papers printed, and the same figures recomputed from a run, cell by cell."""
