"""The estimator laboratory: what the gradient of a schedule, group and credit is, in the mean and in its noise, where the truth is known.

The parts are those that train; only the policy is small, a softmax over a few arms that are right or wrong. See docs/estimators.md.
"""
