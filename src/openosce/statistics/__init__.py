"""HOW SURE WE ARE: arrays in, named results out; knows nothing of cases or models."""

from openosce.statistics.agreement import (
    Detection,
    cohens_kappa,
    detection,
    fleiss_kappa,
    gwet_ac1,
    raw_agreement,
)
from openosce.statistics.agreement_alpha import krippendorff_alpha
from openosce.statistics.agreement_numbers import count_agreement, kendall_tau_b, kendalls_w, pearson, spearman
from openosce.statistics.agreement_resampling import Agreement
from openosce.statistics.averages import mean_of_means
from openosce.statistics.clustering import Clustering, clustering
from openosce.statistics.correction import Corrected, corrected_accuracy, rogan_gladen
from openosce.statistics.estimates import (
    Difference,
    Estimate,
    mean_over_cases,
    paired_difference,
    warns_about_small_counts,
)
from openosce.statistics.mcnemar import McNemar, mcnemar, mcnemar_of_cases
from openosce.statistics.multiplicity import benjamini_hochberg, hochberg, holm
from openosce.statistics.ratio import Ratio, paired_ratio
from openosce.statistics.resampling import (
    BootstrapResult,
    ResamplingTest,
    centred_bootstrap_p,
    cluster_bootstrap,
    sign_flip_p,
)

__all__ = [
    "Agreement",
    "BootstrapResult",
    "Clustering",
    "Corrected",
    "Detection",
    "Difference",
    "Estimate",
    "McNemar",
    "Ratio",
    "ResamplingTest",
    "benjamini_hochberg",
    "centred_bootstrap_p",
    "cluster_bootstrap",
    "clustering",
    "cohens_kappa",
    "corrected_accuracy",
    "count_agreement",
    "detection",
    "fleiss_kappa",
    "gwet_ac1",
    "hochberg",
    "holm",
    "kendall_tau_b",
    "kendalls_w",
    "krippendorff_alpha",
    "mcnemar",
    "mcnemar_of_cases",
    "mean_of_means",
    "mean_over_cases",
    "paired_difference",
    "paired_ratio",
    "pearson",
    "raw_agreement",
    "rogan_gladen",
    "sign_flip_p",
    "spearman",
    "warns_about_small_counts",
]
