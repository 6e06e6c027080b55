"""HOW SURE WE ARE: arrays in, named results out; knows nothing of cases or models."""

from openosce.statistics.estimates import Difference, Estimate, mean_over_cases, paired_difference
from openosce.statistics.multiplicity import holm

__all__ = ["Difference", "Estimate", "holm", "mean_over_cases", "paired_difference"]
