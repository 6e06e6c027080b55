"""What is measured in AgentClinic, for the plan of a study: accuracy first, then all that the dialogue carries."""

from openosce.benchmarks.agentclinic import perception, tests_ordered, trial
from openosce.benchmarks.agentclinic.settings import DIALOGUE, AgentClinicSettings
from openosce.encounters import PATIENT
from openosce.grading import Metric

_NO_POLICY, _RULE = "-", "rule"
_COUNTS = {
    tests_ordered.TESTS_ORDERED: "tests ordered in an encounter",
    tests_ordered.NOT_IN_RECORD: "of them, those that the case does not hold",
    tests_ordered.DOCTOR_TURNS: "the doctor's turns",
    tests_ordered.COST: "US dollars for the tests ordered",
    trial.INVENTED: "readings that the measurement agent made up",
    trial.LEFT_OUT: "readings asked for that it left out",
}
_RATINGS = {
    "confidence": "the patient's confidence in the doctor's assessment",
    "compliance": "how likely the patient is to follow the therapy",
    "consultation": "how likely the patient is to consult this doctor again",
}


def measures(settings: AgentClinicSettings) -> tuple[Metric, ...]:
    """What these settings measure, the headline first."""
    if DIALOGUE not in settings.arms:
        return (Metric(),)
    arms, counted = (DIALOGUE,), dict(_COUNTS)
    if settings.images == "on_request":
        counted[tests_ordered.IMAGE_REQUESTS] = "how often the doctor asked for the image"
    found = [Metric(name, _NO_POLICY, _RULE, arms, 0.0, None, words) for name, words in counted.items()]
    found.append(Metric(trial.REFUSED, _NO_POLICY, _RULE, arms, words="share that refused to play the role"))
    if settings.images == "on_request":
        words = "share of encounters in which the doctor asked for the image"
        found.append(Metric(tests_ordered.IMAGE_REQUESTED, _NO_POLICY, _RULE, arms, words=words))
    if settings.images != "none":
        words = "share of wrong diagnoses that equal another option, which no doctor saw"
        found.append(Metric(trial.HIDDEN_OPTION, _NO_POLICY, _RULE, arms, words=words))
    if settings.perception:
        low, high = perception.LEAST, perception.MOST
        found += [Metric(name, _NO_POLICY, PATIENT, arms, low, high, words) for name, words in _RATINGS.items()]
    return (Metric(), *found)
