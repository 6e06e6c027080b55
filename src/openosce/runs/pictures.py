"""The images of a study's cases: looked at before anything is run, and handed to the roles that see them."""

import hashlib
from collections.abc import Mapping, Sequence

from openosce.cases import Case, ImageStore
from openosce.errors import CaseFileError, StudyError
from openosce.models import reads_images
from openosce.runs.study import Study

_KEPT = 64
"""Cases whose images stay in memory."""


class Pictures:
    """The images of every case, as data URLs."""

    def __init__(self, study: Study, cases: Sequence[Case]) -> None:
        """Load and check every image that a condition shows.

        Raises:
            StudyError: An image cannot be had, or a model that is known to read none would be shown some.
        """
        self._store = ImageStore(study.cases)
        self._kept: dict[str, Mapping[str, str]] = {}
        self.hash: str | None = None
        """Of all images together; None where none is shown."""
        shown = [condition for condition in study.conditions if study.benchmark.shows_images(condition.settings)]
        if shown and any(case.images for case in cases):
            _refuse_blind_models(study)
            self.hash = self._check(cases)

    def of(self, case: Case) -> Mapping[str, str]:
        """The case's images by the path in its record; none where the study shows none."""
        if self.hash is None or not case.images:
            return {}
        if case.id not in self._kept:
            if len(self._kept) >= _KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[case.id] = {image.path: self._store.load(image).data_url for image in case.images}
        return self._kept[case.id]

    def _check(self, cases: Sequence[Case]) -> str:
        digest = hashlib.sha256()
        for case in cases:
            for image in case.images:
                try:
                    digest.update(hashlib.sha256(self._store.load(image).data).digest())
                except CaseFileError as failure:
                    raise StudyError(f"the case {case.id!r} cannot be shown: {failure}") from None
        return digest.hexdigest()[:16]


def _refuse_blind_models(study: Study) -> None:
    for condition in study.conditions:
        if not study.benchmark.shows_images(condition.settings):
            continue
        models = [*(("doctor", spec) for spec in condition.doctors.values()), *condition.roles.items()]
        for role, spec in models:
            if study.benchmark.roles[role].sees_images and not reads_images(spec):
                raise StudyError(
                    f"{spec.name} reads no images, and the cases have some; choose another {role}, leave images out, "
                    f"or say otherwise with --set roles.{role}.vision=true"
                )
