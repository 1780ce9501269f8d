"""Tasks of reasoning-gym, from their source through the prompt's answer to their score."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import reasoning_gym

from ada.data.sources import DataError
from ada.data.sources.reasoning_gym import ReasoningGym
from ada.rewards.evaluation_guard import is_formula
from ada.rewards.functions import UnreadableGold
from ada.rewards.procedural import gold_problem, gold_response, score

pytestmark = pytest.mark.slow  # the library takes seconds to import
TASKS = {"chain_sum": {"max_terms": 3}, "leg_counting": {}, "sudoku": {}, "rubiks_cube": {}}


def test_rows_are_the_same_for_the_same_seed_and_others_for_another() -> None:
    first, again, other = (list(ReasoningGym(tasks=TASKS, size=3, seed=seed).rows()) for seed in (1, 1, 2))
    assert first == again and len({row.id for row in (*first, *other)}) == 24
    assert [row.problem for row in first] != [row.problem for row in other]


def test_every_task_calls_its_own_answer_right_and_another_ones_not() -> None:
    rows = list(ReasoningGym(tasks=TASKS, size=2, seed=5).rows())
    rewards = [score(f"So it is\n{gold_response(row.answer)}", row.answer) for row in rows]
    assert rewards == [1.0] * 8
    assert all(score("<answer>what?</answer>", row.answer) < 1 for row in rows)
    assert [score(text, rows[0].answer) for text in ("", json.loads(rows[0].answer)["entry"]["answer"])] == [
        0.0,
        0.0,
    ]  # no answer, no marks


def test_the_last_answer_counts() -> None:
    gold = json.dumps({"task": "chain_sum", "entry": {"question": "4 + 3", "answer": "7", "metadata": {}}})
    assert score("<answer>6</answer> no, <answer> 7 </answer>", gold) == 1.0
    assert score("<think><answer>7</answer></think> \\boxed{7}", gold) == 1.0
    assert score("<think><answer>7</answer></think> \\boxed{6}", gold) < 1.0
    assert score("<answer>7</answer> no, <answer>6</answer>", gold) < 1.0


@pytest.mark.parametrize("gold", ["", "7", '{"task": "no_such", "entry": {"answer": "1", "metadata": {}}}', '{"task": "chain_sum"}'])
def test_what_is_no_task_gives_no_verdict(gold: str) -> None:
    assert gold_problem(gold) and gold_response(gold) is None
    with pytest.raises(UnreadableGold, match="no task of reasoning-gym"):
        score("<answer>7</answer>", gold)


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ({"chain_sums": {}}, "no task 'chain_sums'. It has: .*chain_sum"),
        ({"chain_sum": {"terms": 3}}, "does not take .*terms"),
        ({"chain_sum": {"min_terms": -1}}, "does not take"),
    ],
)
def test_tasks_that_are_not_there_and_settings_they_do_not_take(tasks: dict[str, dict[str, int]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        next(ReasoningGym(tasks=tasks).rows())


@pytest.mark.parametrize(
    "task", ["string_insertion", "spiral_matrix", "binary_matrix", "n_queens", "countdown", "puzzle24", "simple_integration"]
)
@pytest.mark.parametrize("attack", ["__import__('os').system('touch {path}')", "open('{path}', 'w')", "[c for c in ().__class__.__mro__]"])
def test_what_a_scorer_evaluates_is_no_program_R07(task: str, attack: str, tmp_path: Path) -> None:
    """These scorers of the library pass the answer to `eval`."""
    (row,) = ReasoningGym(tasks={task: {}}, size=1, seed=1).rows()
    path = tmp_path / "made"
    text = attack.format(path=path)
    assert score(f"<answer>{text}</answer>", row.answer) < 0.5
    assert score(f"<answer>[{text}]</answer>", row.answer) < 0.5
    assert not path.exists()


def test_the_library_does_evaluate_without_the_guard_R07(tmp_path: Path) -> None:
    """Else the test above would prove nothing."""
    (row,) = ReasoningGym(tasks={"binary_matrix": {}}, size=1, seed=1).rows()
    entry = json.loads(row.answer)["entry"]
    path = tmp_path / "made"
    reasoning_gym.get_score_answer_fn("binary_matrix")(answer=f"[open({str(path)!r}, 'w')]", entry=entry)
    assert path.exists()


@pytest.mark.parametrize(
    ("text", "formula"),
    [("3*(4+1)/2", True), ("x**2 + C", True), ("Symbol ('x' )*Integer (3 )", True), ("[[1, 0], [0, 1]]", True), ("['a', 'b']", True)]
    + [
        ("0xff & ~0b11", True),
        ("1.5e-3", True),
        ("a.b", False),
        ("(1).real", False),
        ("1 .real", False),
        ("1.real", False),
        ("open(1)", False),
    ]
    + [
        ("__a", False),
        ("a__b", False),
        ("'{0}'.format(1)", False),
        ("lambda: 1", False),
        ("\\x41", False),
        ("x" * 30_000, False),
        ("f'{1}'", False),
    ],
)
def test_what_counts_as_a_formula(text: str, formula: bool) -> None:
    assert is_formula(text) is formula
