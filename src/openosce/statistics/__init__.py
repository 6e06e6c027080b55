"""HOW SURE WE ARE: arrays in, named results out; knows nothing of cases or models."""

from openosce.statistics.clustering import Clustering, clustering
from openosce.statistics.estimates import (
    Difference,
    Estimate,
    mean_over_cases,
    paired_difference,
    warns_about_small_counts,
)
from openosce.statistics.mcnemar import McNemar, mcnemar, mcnemar_of_cases
from openosce.statistics.multiplicity import benjamini_hochberg, hochberg, holm
from openosce.statistics.resampling import (
    BootstrapResult,
    ResamplingTest,
    centred_bootstrap_p,
    cluster_bootstrap,
    sign_flip_p,
)

__all__ = [
    "BootstrapResult",
    "Clustering",
    "Difference",
    "Estimate",
    "McNemar",
    "ResamplingTest",
    "benjamini_hochberg",
    "centred_bootstrap_p",
    "cluster_bootstrap",
    "clustering",
    "hochberg",
    "holm",
    "mcnemar",
    "mcnemar_of_cases",
    "mean_over_cases",
    "paired_difference",
    "sign_flip_p",
    "warns_about_small_counts",
]
