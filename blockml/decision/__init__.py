"""From scores to kept blocks: the policy, and rules on units, duplicates, hidden text, comments and threads."""

from blockml.decision.decide import Decision, predicted_f1, with_threshold
from blockml.decision.policy import DecisionPolicy, PolicyColumns
from blockml.decision.prediction import Prediction
from blockml.decision.rules import score_blocks

__all__ = [
    "Decision", "DecisionPolicy", "PolicyColumns", "Prediction", "predicted_f1", "score_blocks", "with_threshold",
]  # fmt: skip
