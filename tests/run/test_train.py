"""`ada train` on the micro-world, both engines: what a run leaves, that its numbers agree, and how it ends when it is told to."""

from __future__ import annotations

import json
import re
import signal
import time
from pathlib import Path

import pytest
import torch
import yaml
from transformers import AutoModelForCausalLM, AutoTokenizer

from ada.data.microworld import BASE
from ada.engine.engines.transformers import Transformers
from ada.engine.generation import Generation
from ada.recipe.validate import read_recipe
from ada.sampling.seeds import seed_of
from ada.types import Draw, Prompt
from tests.docs.pages import metric_patterns
from tests.run.launch import ROOT, left_behind, metrics, samples, start, train, until_step

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

EVERY_STEP = """
reward/mean reward/first_n reward/timeouts reward/errors
sampling/responses sampling/responses_per_prompt sampling/rounds sampling/resolved_fraction sampling/all_right_fraction
sampling/all_wrong_fraction signal/zero_gradient_fraction
train/loss train/grad_norm train/entropy train/clip_fraction train/tokens train/learning_rate
mismatch/logprob_abs_mean mismatch/logprob_abs_max completions/mean_length completions/clipped_fraction
time/step time/cpu time/rollout time/reward time/update time/sync throughput/rollout_tokens_per_second throughput/train_tokens_per_second
total/generated_tokens total/trained_tokens total/responses total/seconds total/memory_retries
""".split()
EVALUATION = ["time/eval", "eval/heldout/avg@1", "eval/heldout/pass@1"]


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def by_vllm(output: Path) -> Path:
    """Three steps at T = 1, a checkpoint after the second and one after the last."""
    train(output, "steps=3", "checkpoints.every=2", "run_name=vllm")
    return output / "vllm"


@pytest.fixture(scope="module")
def by_transformers(output: Path) -> Path:
    """Three steps at T = 0.7, without a name of its own."""
    train(output, "steps=3", "checkpoints.every=2", "engine=transformers", "generation.temperature=0.7")
    return output / "micro_seq_balance"


@pytest.fixture(params=["by_vllm", "by_transformers"])
def run(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(request.param)


def test_the_folder_is_complete(run):
    assert {path.name for path in run.iterdir()} - {"rewards.log"} == {
        "recipe.yaml",
        "metrics.jsonl",
        "samples.jsonl",
        "pools.jsonl",
        "summary.json",
        "report.html",
        "log.txt",
        "checkpoints",
    }
    name, recipe = read_recipe(str(run / "recipe.yaml"))
    assert recipe.steps == 3 and recipe.engine.name == yaml.safe_load((run / "recipe.yaml").read_text())["engine"]["name"]
    assert {sample["step"] for sample in samples(run)} == {1, 2, 3}


def test_every_metric_is_there_each_step(run):
    steps = metrics(run)
    assert [step["step"] for step in steps] == [0, 1, 2, 3]
    for step in steps[1:]:
        assert set(EVERY_STEP) <= set(step), set(EVERY_STEP) - set(step)
        assert all(isinstance(step[name], int | float) for name in EVERY_STEP)
        assert step["sampling/responses"] == 8 * step["sampling/responses_per_prompt"] >= 32
        assert step["reward/timeouts"] == step["reward/errors"] == 0


def test_evaluated_before_the_first_and_after_the_last_step_once_each_C09_Z03(run):
    assert [step["step"] for step in metrics(run) if set(EVALUATION) & set(step)] == [0, 3]
    assert all(set(EVALUATION) <= set(metrics(run)[step]) for step in (0, 3))
    summary = json.loads((run / "summary.json").read_text())
    for when, step in (("before", 0), ("after", 3)):
        assert summary[when] == {name: metrics(run)[step][name] for name in EVALUATION if name.startswith("eval/")}
    assert (summary["steps"], summary["stopped_by"]) == (3, None)


def test_the_pools_and_the_report_are_those_of_the_metrics(run):
    rows = [json.loads(line) for line in (run / "pools.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [1, 2, 3]
    for row, step in zip(rows, metrics(run)[1:], strict=True):
        assert len(row["prompts"]) == len(set(row["prompts"])) == len(row["verdicts"]) == 8
        assert sum(map(len, row["verdicts"])) == step["sampling/responses"]
        assert row["outcomes"].count("resolved") / 8 == step["sampling/resolved_fraction"]
    assert "3 of 3 steps done" in (run / "report.html").read_text()


def test_sampler_and_actor_agree_on_every_trained_token(run):
    """At both temperatures: log-probs of the law that was sampled from, in float32."""
    for step in metrics(run)[1:]:
        assert 0 < step["mismatch/logprob_abs_max"] <= 1e-4
        assert step["mismatch/sync_logprob_abs_max"] <= 1e-4


def test_checkpoints_are_those_asked_for_and_the_last_C09(run):
    assert sorted(path.name for path in (run / "checkpoints").iterdir()) == ["step-000002", "step-000003"]
    before, after = (AutoModelForCausalLM.from_pretrained(run / f"checkpoints/step-00000{n}/huggingface") for n in (2, 3))
    assert any(not torch.equal(p, after.get_parameter(name)) for name, p in before.named_parameters())


def test_totals_add_up(run):
    steps = metrics(run)[1:]
    assert steps[-1]["total/trained_tokens"] == sum(step["train/tokens"] for step in steps)
    assert steps[-1]["total/responses"] == sum(step["sampling/responses"] + step["sampling/surplus_draws"] for step in steps)


def test_a_checkpoint_is_what_the_engine_drew_from(by_transformers):
    """The weights saved after step 2, loaded by transformers, give the draws of step 3 token by token."""
    folder = str(by_transformers / "checkpoints/step-000002/huggingface")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    engine = Transformers(max_concurrent=8).start(
        folder, Generation(temperature=0.7, max_prompt_tokens=13, max_response_tokens=20), "float32", 0
    )
    engine.trust_folder_weights(2)
    seen = {sample["prompt_id"]: sample for sample in samples(by_transformers) if sample["step"] == 3}
    for id, sample in seen.items():
        ids = tuple(tokenizer(sample["prompt"]).input_ids)
        engine.submit(Draw(Prompt(id, ids, sample["answer"], "", ""), sample["draw"], seed_of(0, "draw", "step-3", id, sample["draw"])))
    drawn = {}
    while len(drawn) < len(seen):
        drawn |= {response.prompt_id: response for response in engine.step()}
    assert seen and {id: tokenizer.decode(r.token_ids, skip_special_tokens=True) for id, r in drawn.items()} == {
        id: sample["response"] for id, sample in seen.items()
    }
    sequences = [tuple(tokenizer(sample["prompt"]).input_ids) + drawn[id].token_ids for id, sample in seen.items()]
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    for scores, sequence in zip(engine.score(sequences), sequences, strict=True):
        with torch.no_grad():
            logprobs = model(torch.tensor([sequence])).logits[0].log_softmax(-1)
        assert scores == pytest.approx([logprobs[i, token].item() for i, token in enumerate(sequence[1:])], abs=1e-5)
    engine.close()


def test_without_a_learning_rate_the_weights_stay_and_the_next_run_has_its_own_folder(by_transformers, output):
    before = (by_transformers / "metrics.jsonl").read_bytes()
    train(output, "steps=1", "engine=transformers", "trainer.learning_rate=0")
    assert (by_transformers / "metrics.jsonl").read_bytes() == before
    run = output / "micro_seq_balance-2"
    assert metrics(run)[1]["train/grad_norm"] > 0
    saved, base = (
        AutoModelForCausalLM.from_pretrained(f, dtype=torch.float32) for f in (run / "checkpoints/step-000001/huggingface", BASE)
    )
    assert all(torch.equal(p, base.get_parameter(name)) for name, p in saved.named_parameters())


@pytest.mark.parametrize(("number", "engine"), [(signal.SIGTERM, "vllm"), (signal.SIGINT, "transformers")])
def test_a_signal_ends_the_run_in_order_within_10_seconds(tmp_path, number, engine):
    process = start(tmp_path, "steps=1000", f"engine={engine}", "run_name=ended")
    until_step(process, 1)
    process.send_signal(number)
    sent = time.monotonic()
    said, _ = process.communicate(timeout=60)
    assert time.monotonic() - sent < 10
    assert process.returncode == (0 if number == signal.SIGTERM else 128 + number)
    assert left_behind(tmp_path, seconds=2) == []
    assert "Traceback" not in said and "error:" not in said
    run = tmp_path / "ended"
    steps = metrics(run)
    assert [step["step"] for step in steps] == list(range(len(steps)))
    assert "Stopped" in steps[-1]["error"] and not any("error" in step for step in steps[:-1])
    summary = json.loads((run / "summary.json").read_text())
    assert summary["stopped_by"] == number.name and summary["steps"] == len(steps) - 2
    assert [path.name for path in (run / "checkpoints").iterdir()] == [f"step-{len(steps) - 2:06d}"]


def test_every_metric_is_documented_with_its_healthy_range(run):
    """And what to do where it leaves it, in docs/metrics.md. `<set>` and `<k>` stand for any name and number."""
    meanings, healthy = (metric_patterns(part) for part in (ROOT / "docs/metrics.md").read_text().split("\n## "))
    written = {name for step in metrics(run) for name in step} - {"step"}
    for table in (meanings, healthy):
        assert sorted(name for name in written if not any(re.fullmatch(pattern, name) for pattern in table)) == []
