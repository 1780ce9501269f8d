"""The micro-world: its problems, their answers, its tokenizer, its pupil and the shipped base model."""

from __future__ import annotations

import random
import re
from itertools import islice
from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer, Qwen2Config, Qwen2ForCausalLM

from ada.data.microworld import BASE, measure, pupil, tokenizer
from ada.data.microworld.task import MAX_RESPONSE_TOKENS, PROMPT_TOKENS, RESPONSE_TOKENS, Problem, draw, fresh, problems
from ada.evaluation.passk import mean_pass_at_k

EVERY = problems("train") + problems("heldout")


def by_hand(base: int, op: str, x: str, y: str) -> Problem:
    return Problem("", base, op, int(x, base), int(y, base))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("problem", "prompt", "response", "critical"),
    [
        (by_hand(9, "+", "723", "788"), "b9:0723+0788=", "12,12,16,01\\boxed{01622}", 3),
        (by_hand(5, "+", "4444", "0001"), "b5:4444+0001=", "10,10,10,10\\boxed{10000}", 4),  # the answer's fifth digit is the last carry
        (by_hand(8, "-", "1000", "0001"), "b8:1000-0001=", "17,17,17,00\\boxed{00777}", 3),  # a borrow through zeros
        (by_hand(7, "-", "52", "25"), "b7:0052-0025=", "14,02,00,00\\boxed{00024}", 1),
        (by_hand(6, "-", "31", "31"), "b6:0031-0031=", "00,00,00,00\\boxed{00000}", 0),
    ],
)
def test_literal_problems(problem: Problem, prompt: str, response: str, critical: int) -> None:
    assert (problem.prompt, problem.response, problem.critical) == (prompt, response, critical)


def test_answers_agree_with_integer_arithmetic() -> None:
    for problem in EVERY:
        result = problem.x + problem.y if problem.op == "+" else problem.x - problem.y
        assert int(problem.answer, problem.base) == result >= 0
        assert len(problem.answer) == 5
        assert problem.response.endswith(f"\\boxed{{{problem.answer}}}")


def test_splits_have_their_sizes_and_share_no_problem() -> None:
    assert (len(problems("train")), len(problems("heldout"))) == (512, 200)
    assert len({problem.prompt for problem in EVERY}) == 712 == len({problem.id for problem in EVERY})
    with pytest.raises(ValueError, match="train, heldout"):
        problems("test")  # type: ignore[arg-type]


def test_problems_stay_in_their_ranges() -> None:
    for problem in EVERY:
        x, y = problem.prompt[3:7], problem.prompt[8:12]
        assert len(x.lstrip("0")) == len(y.lstrip("0")) in (2, 3, 4)
        assert set(x + y) <= set("012345678"[: problem.base])
        assert problem.op == "+" or problem.x >= problem.y
    assert {(p.base, p.op) for p in EVERY} == {(base, op) for base in range(5, 10) for op in "+-"}


def test_uncritical_problems_are_kept_with_probability_a_fifth() -> None:
    """Two-digit sums in base 9 by enumeration: the share without a carry among those drawn must be 0.2 u / (0.2 u + 1 - u)."""
    pairs = [(x, y) for x in range(9, 81) for y in range(9, 81)]
    u = sum(x % 9 + y % 9 < 9 and x // 9 + y // 9 < 9 for x, y in pairs) / len(pairs)
    rng = random.Random(1)
    drawn = [p for p in (draw(rng) for _ in range(20_000)) if p.base == 9 and p.op == "+" and p.x < 81]
    share = sum(p.critical == 0 for p in drawn) / len(drawn)
    assert share == pytest.approx(0.2 * u / (0.2 * u + 1 - u), abs=0.05)  # about 650 drawn: three standard errors


def test_pupil_is_right_with_probability_q_to_the_critical_columns() -> None:
    problem = by_hand(9, "+", "723", "788")
    assert pupil.pass_rate(problem) == pytest.approx(0.8**3)
    rng = random.Random(2)
    right = sum(pupil.attempt(problem, rng) == problem.response for _ in range(4000)) / 4000
    assert right == pytest.approx(0.512, abs=0.03)


def test_pupils_misconceptions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pupil, "RIGHT_ON_CRITICAL", {op: dict.fromkeys(range(5, 10), 0.0) for op in "+-"})
    rng = random.Random(0)
    assert pupil.attempt(by_hand(9, "+", "723", "788"), rng) == "11,11,15,01\\boxed{01511}"  # 723 + 788 in base 10
    assert pupil.attempt(by_hand(5, "+", "0043", "0013"), rng) == "06,05,00,00\\boxed{00056}"  # no carry before ten
    assert pupil.attempt(by_hand(8, "-", "0052", "0025"), rng) == "03,03,00,00\\boxed{00033}"  # the smaller from the larger


@pytest.mark.parametrize("in_model_folder", [False, True])
def test_tokenizer_round_trip(tmp_path: Path, in_model_folder: bool) -> None:
    """In a model folder too: beside a qwen2 config, transformers loads another class than the one the tokenizer was saved from."""
    tokenizer.build().save_pretrained(tmp_path)
    if in_model_folder:
        Qwen2Config(vocab_size=32).save_pretrained(tmp_path)
    loaded, built = AutoTokenizer.from_pretrained(tmp_path), tokenizer.build()
    assert (len(loaded), loaded.pad_token_id, loaded.eos_token_id, loaded.bos_token_id) == (32, 0, 1, None)
    for problem in EVERY:
        prompt, response = loaded.encode(problem.prompt), loaded.encode(problem.response)
        assert (len(prompt), len(response) + 1) == (PROMPT_TOKENS, RESPONSE_TOKENS) == (13, MAX_RESPONSE_TOKENS - 1)
        assert prompt + response == [built.get_vocab()[word] for word in re.findall(r"\\boxed\{|.", problem.prompt + problem.response)]
        assert loaded.decode(prompt) == problem.prompt
        assert loaded.decode([*response, loaded.eos_token_id], skip_special_tokens=True) == problem.response
    assert loaded.convert_tokens_to_ids(list(tokenizer.TOKENS)) == list(range(20))
    assert loaded.decode([3, 25, 18], skip_special_tokens=True) == "1<unused25>\\boxed{"


def test_tokenizer_refuses_foreign_characters() -> None:
    with pytest.raises(Exception, match="Missing"):
        tokenizer.build().encode("b9:12x")


def exact_pass_rates(asked: tuple[Problem, ...]) -> torch.Tensor:
    """Probability of the whole right response under the base model, in one pass over it: no sampling."""
    words = AutoTokenizer.from_pretrained(BASE)
    model = Qwen2ForCausalLM.from_pretrained(BASE, dtype=torch.float32).eval()
    tokens_BL = torch.tensor([words.encode(problem.prompt + problem.response) + [words.eos_token_id] for problem in asked])
    with torch.no_grad():
        logprobs_BLV = model(input_ids=tokens_BL).logits.log_softmax(-1)
    return logprobs_BLV[:, PROMPT_TOKENS - 1 : -1].gather(-1, tokens_BL[:, PROMPT_TOKENS:, None])[..., 0].sum(1).exp()


def test_base_model_has_its_shape() -> None:
    model = Qwen2ForCausalLM.from_pretrained(BASE, dtype=torch.float32)
    # 32 x 128 embedding; a layer: q 128x128+128, k and v 128x64+64 each, o 128x128, three 128x320, two norms; a last norm
    assert sum(p.numel() for p in model.parameters()) == 521_856 == 32 * 128 + 3 * (16_512 + 2 * 8_256 + 16_384 + 122_880 + 256) + 128
    assert model.lm_head.weight is model.model.embed_tokens.weight
    assert sum(file.stat().st_size for file in BASE.glob("*.safetensors")) == pytest.approx(4 * 521_856, rel=0.01)
    assert (model.generation_config.eos_token_id, model.generation_config.pad_token_id) == (1, 0)


@pytest.mark.slow
def test_sampled_pass_rates_agree_with_the_models_probabilities() -> None:
    """measure's sampler against teacher forcing. A right box after a wrong column adds a little to what is sampled."""
    asked = problems("train")[:128]
    exact = exact_pass_rates(asked)
    counts = measure.right_counts(BASE, asked, 8)
    for k in (1, 8):
        expected = 1 - (1 - exact) ** k  # the chance of a right one among k; with 8 samples, 8 // k independent trials of it a problem
        standard_error = (expected * (1 - expected) / (8 // k)).sum().sqrt().item() / len(asked)
        assert mean_pass_at_k(8, counts, k) == pytest.approx(expected.mean().item(), abs=3 * standard_error)


def test_base_model_has_the_reference_pass_at_k() -> None:
    """By the model's own probabilities, so without the noise of sampling; `python -m ada.data.microworld.measure` samples."""
    exact = exact_pass_rates(problems("train")).double()
    for k in (1, 4, 8, 16, 32):
        assert (1 - (1 - exact) ** k).mean().item() == pytest.approx(measure.REFERENCE[k], abs=0.03)


def test_fresh_problems_are_those_of_the_law_that_neither_split_has():
    known = {problem.prompt for problem in EVERY}
    drawn = list(islice(fresh(random.Random(1)), 3000))
    rng, of_law = random.Random(1), []
    while len(of_law) < len(drawn):
        of_law += [problem for problem in [draw(rng)] if problem.prompt not in known]
    assert drawn == of_law and not known & {problem.prompt for problem in drawn}
