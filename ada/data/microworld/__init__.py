"""The micro-world: column arithmetic with a verifiable answer, its tokenizer and its shipped base model, for RL on two CPU cores."""

from pathlib import Path

from ada.data.microworld.task import Problem, problems

BASE = Path(__file__).parent / "base"
"""The shipped base model: a Hugging Face folder with the tokenizer in it."""

__all__ = ["BASE", "Problem", "problems"]
