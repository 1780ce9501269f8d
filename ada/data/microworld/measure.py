"""Measures pass@k of a micro-world model on the training problems and sets it beside the table that the base model was made to
meet; with --fresh, its accuracy on the held-out problems and on fresh ones, and by how much draws of as many fresh ones differ.

python -m ada.data.microworld.measure MODEL_FOLDER
python -m ada.data.microworld.measure MODEL_FOLDER --fresh 10 --samples 8
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from statistics import mean, stdev

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase, PreTrainedTokenizerFast, Qwen2ForCausalLM

from ada.data.microworld.task import MAX_RESPONSE_TOKENS, Problem, fresh, problems
from ada.evaluation.passk import mean_pass_at_k
from ada.rewards.boxed import score

REFERENCE = {1: 0.222, 4: 0.428, 8: 0.535, 16: 0.628, 32: 0.705, 64: 0.763, 128: 0.800}
"""pass@k of an earlier prototype's base model on its 512 training problems at temperature 1, from at least 128 samples a problem."""

CHUNK = 4096  # responses decoded together


@torch.inference_mode()
def sample(model: PreTrainedModel, prompts_BP: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """One response of 20 tokens for each prompt at temperature 1, whatever follows the end token included: [B, P] ids -> [B, 20] ids."""
    responses: list[torch.Tensor] = []
    step_BL, cache = prompts_BP, None
    for _ in range(MAX_RESPONSE_TOKENS):
        output = model(input_ids=step_BL, past_key_values=cache, use_cache=True, logits_to_keep=1)
        cache = output.past_key_values
        step_BL = torch.multinomial(output.logits[:, -1].softmax(-1), 1, generator=generator)
        responses.append(step_BL)
    return torch.cat(responses, 1)


def is_right(ids: list[int], answer: str, words: PreTrainedTokenizerBase) -> bool:
    """A response without an end token within the cap is unfinished, hence wrong."""
    if words.eos_token_id not in ids:
        return False
    return score(str(words.decode(ids[: ids.index(words.eos_token_id)])), answer) == 1.0


def right_counts(folder: Path | str, asked: Sequence[Problem], samples: int, seed: int = 0) -> list[int]:
    """How many of `samples` responses to each problem are right."""
    words = PreTrainedTokenizerFast.from_pretrained(folder)
    model = Qwen2ForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    generator = torch.Generator().manual_seed(seed)
    rows = [problem for problem in asked for _ in range(samples)]
    prompts_BP = torch.tensor([words.encode(problem.prompt) for problem in asked]).repeat_interleave(samples, 0)
    verdicts: list[bool] = []
    for start in range(0, len(rows), CHUNK):
        responses = sample(model, prompts_BP[start : start + CHUNK], generator).tolist()
        verdicts += [is_right(ids, row.answer, words) for ids, row in zip(responses, rows[start:], strict=False)]
    return [sum(verdicts[start : start + samples]) for start in range(0, len(rows), samples)]


def compare_with_fresh(folder: Path, draws: int, samples: int) -> None:
    """Accuracy on the 200 held-out problems against that on `draws` (at least 2) times 200 fresh ones."""
    heldout = problems("heldout")
    endless = fresh(random.Random(0))
    draws_of = [list(islice(endless, len(heldout))) for _ in range(draws)]
    accuracy = [mean(count / samples for count in right_counts(folder, p, samples)) for p in (heldout, *draws_of)]
    print(f"held out {accuracy[0]:.3f}; {draws} fresh draws {mean(accuracy[1:]):.3f}, standard deviation {stdev(accuracy[1:]):.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="Hugging Face folder with model and tokenizer")
    parser.add_argument("--samples", type=int, default=max(REFERENCE), help="responses a problem; at least 128 for the whole table")
    parser.add_argument("--fresh", type=int, default=0, metavar="N", help="ask N draws of fresh problems, each of as many as are held out")
    arguments = parser.parse_args()
    if arguments.fresh:
        return compare_with_fresh(arguments.model, arguments.fresh, arguments.samples)
    start = time.perf_counter()
    counts = right_counts(arguments.model, problems("train"), arguments.samples)
    print("    k  measured  reference  difference")
    for k, reference in REFERENCE.items():
        if k <= arguments.samples:
            measured = mean_pass_at_k(arguments.samples, counts, k)
            print(f"{k:5d}  {measured:8.3f}  {reference:9.3f}  {measured - reference:+10.3f}")
    hard = sum(right < 0.1 * arguments.samples for right in counts) / len(counts)
    print(f"{hard:.3f} of the problems have p < 0.1; {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
