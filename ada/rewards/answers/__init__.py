"""What a response's final answer is, what it means, and whether it means the same as the gold answer. Used by `ada.rewards.math`."""
