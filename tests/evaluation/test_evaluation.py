"""avg@k and pass@k, against counting all subsets and against problems with known answers."""

from __future__ import annotations

from itertools import combinations

import pytest

from ada.engine.generation import Generation
from ada.evaluation.config import Evaluation
from ada.evaluation.evaluator import evaluate
from ada.evaluation.passk import mean_pass_at_k, pass_at_k
from ada.sampling.schedules.uniform import Uniform
from tests.sampling.stand_in import StandInEngine, StandInRewards, collector, mixed, prompts


def test_pass_at_k_is_the_share_of_subsets_with_a_right_answer_Z04():
    for n in range(1, 8):
        for right in range(n + 1):
            answers = [i < right for i in range(n)]
            for k in range(1, n + 1):
                subsets = [any(subset) for subset in combinations(answers, k)]
                assert pass_at_k(n, right, k) == pytest.approx(sum(subsets) / len(subsets))


def test_pass_at_k_by_hand_Z04():
    assert pass_at_k(4, 1, 2) == 0.5  # not 1 - 0.75**2
    assert mean_pass_at_k(4, [0, 4], 4) == 0.5


@pytest.mark.parametrize(("n", "right", "k"), [(4, 1, 5), (4, 5, 2), (4, -1, 2), (4, 1, 0)])
def test_pass_at_k_of_other_numbers_is_refused(n, right, k):
    with pytest.raises(ValueError, match="needs 0 < k <= n"):
        pass_at_k(n, right, k)


LAW = Generation(temperature=0.6, top_p=0.9, max_response_tokens=4096)


def scores(law, sets, samples=4, step=0):
    engine = StandInEngine(law, order=3)
    return evaluate(collector(engine, StandInRewards(3)), sets, samples, LAW, step), engine


def test_rows_of_the_same_text_are_two_problems_Z04():
    """One always right, one always wrong: 0.5 over two problems, not one problem that is passed."""
    twins = [prompt.__class__(prompt.id, (1,), "3", "test", "the same") for prompt in prompts(2)]
    found, _ = scores(lambda draw: "RW"[draw.prompt.id == "test/1"], {"twins": twins})
    assert (found["eval/twins/avg@4"], found["eval/twins/pass@4"]) == (0.5, 0.5)


def test_what_has_no_verdict_keeps_its_place_in_the_denominator_Z03():
    """Of each problem's four responses one is right; the others are cut off, fail to be scored, or cannot be used."""
    found, engine = scores(lambda draw: "RCTE"[draw.index], {"one": prompts(5), "two": prompts(3, "other")})
    of_each = {"avg@4": 0.25, "pass@4": 1.0, "truncated_fraction": 0.25, "unknown_fraction": 0.5}
    assert found == {f"eval/{name}/{metric}": value for name in ("one", "two") for metric, value in of_each.items()}
    assert len(engine.submitted) == 4 * 8


def test_each_evaluation_draws_anew_whatever_training_drew():
    seeds = []
    for step in (0, 3):
        _, engine = scores(lambda draw: "R", {"one": prompts(5)}, samples=2, step=step)
        seeds.append({draw.seed for draw in engine.submitted})
    assert len(seeds[0]) == 10 and not seeds[0] & seeds[1]


def test_every_draw_follows_evaluations_law_and_none_after_it_Z03():
    engine = StandInEngine(mixed)
    collecting = collector(engine, StandInRewards())
    evaluate(collecting, {"one": prompts(5)}, 2, LAW, step=1)
    assert list(engine.law_of.values()) == [LAW] * 10
    collecting.collect("step-1", prompts(1), Uniform(draws=1))
    assert engine.law_of[engine.submitted[-1].seed] is None


def test_the_law_is_that_of_the_evaluation_section_Z03():
    """Training at T = 0.7 with a truncated law, evaluation at its own defaults or at what its keys say."""
    training = Generation(temperature=0.7, top_k=5, max_prompt_tokens=9, max_response_tokens=20)
    assert Evaluation(sets={}).law(training) == Generation(max_prompt_tokens=9, max_response_tokens=20)
    own = Evaluation(sets={}, temperature=0.6, top_p=0.95, max_response_tokens=30)
    assert own.law(training) == Generation(temperature=0.6, top_p=0.95, max_prompt_tokens=9, max_response_tokens=30)


def test_nothing_to_evaluate_is_nothing_drawn():
    assert scores(mixed, {})[0] == {}
