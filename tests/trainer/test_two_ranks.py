"""Two ranks, each ZeRO stage: the same numbers as one plain torch process. One launch serves all tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from ada.trainer.batching import pack
from ada.trainer.losses.clipped import Clipped
from tests.trainer.plain import law, load, sequences, train
from tests.trainer.two_ranks import start, weights

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
STAGES = [0, 1, 2, 3]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("two_ranks")


@pytest.fixture(scope="module")
def seen(tiny_model: Path, scratch: Path) -> dict:
    root = Path(__file__).parents[2]
    launcher = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
    env = {k: v for k, v in os.environ.items() if k not in launcher} | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(root)}
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node=2",
        str(root / "tests/trainer/two_ranks.py"),
    ]
    done = subprocess.run([*command, str(tiny_model), str(scratch)], env=env, capture_output=True, text=True, timeout=900, cwd=root)
    assert done.returncode == 0, done.stderr[-4000:]
    return torch.load(scratch / "seen.pt", weights_only=False)


@pytest.fixture(scope="module")
def plain(tiny_model: Path):
    return train(tiny_model, sequences(), 2, 1e-3, 0.8, 0.01, 0.5, kl=0.05, cap=2.0)


def test_the_ranks_had_unequal_work():
    shares = [pack(sequences(), rank, 2, 70, 24) for rank in range(2)]
    tokens = [sum(int(b.mask_RL.sum()) for b in share) for share in shares]
    assert tokens[0] != tokens[1]
    assert len(shares[0]) == len(shares[1]) > 1


@pytest.mark.parametrize("stage", STAGES)
def test_two_ranks_equal_plain_torch_L01_L05_N02(seen, plain, stage):
    record, final = plain
    for got, want in zip(seen[stage]["stats"], record, strict=True):
        assert got["loss"] == pytest.approx(want["loss"], rel=1e-5, abs=1e-6)  # its terms, of the order of 1, nearly cancel
        assert got["grad_norm"] == pytest.approx(want["norm"], rel=1e-5)
        assert got["entropy"] == pytest.approx(want["entropy"], rel=1e-5)
        assert got["diagnostics"]["kl"] == pytest.approx(want["kl"], rel=1e-4, abs=1e-9)
    assert seen[stage]["weights"].keys() == final.keys()
    for name, w in final.items():
        torch.testing.assert_close(seen[stage]["weights"][name], w, atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("stage", STAGES)
def test_first_ratio_is_exactly_one_L07(seen, stage):
    first, second = (s["diagnostics"]["ratio"] for s in seen[stage]["stats"])
    assert first == 1.0
    assert second != 1.0


@pytest.mark.parametrize("stage", STAGES)
def test_mismatch_is_pooled_over_ranks_N02(seen, tiny_model, stage):
    with torch.no_grad():
        gaps = torch.cat([law(load(tiny_model), s, 0.8)[0] - torch.tensor(s.sampler_logprobs) for s in sequences()]).abs()
    stats = seen[stage]["stats"][0]
    assert stats["tokens"] == len(gaps)
    assert stats["mismatch_abs_mean"] == pytest.approx(gaps.mean().item(), rel=1e-5)
    assert stats["mismatch_abs_max"] == pytest.approx(gaps.max().item(), rel=1e-5)


@pytest.mark.parametrize("stage", STAGES)
def test_resume_continues_bit_for_bit_C07(seen, stage):
    assert seen[stage]["resumed"] == seen[stage]["stats"][1]
    assert seen[stage]["resumed_equal"]


@pytest.mark.parametrize("stage", STAGES)
def test_one_rank_continues_where_two_were(seen, tiny_model, stage):
    alone = start(tiny_model, stage)
    alone.load_state(1, seen[stage]["saved"].__getitem__)
    for _, layer in alone.state(lambda number: True):
        assert all(torch.equal(tensor, seen[stage]["saved"][name]) for name, tensor in layer.items())
    assert seen[stage]["own"] == [0, 2]  # rank 0's of the embedding, two layers and the last norm
    batches = pack(sequences(), 0, 1, 70, 24)
    base = start(tiny_model, stage)
    stats = alone.update(batches, base.logprobs(batches), Clipped())  # the old policy of both updates is the base
    assert stats.grad_norm == pytest.approx(seen[stage]["stats"][1]["grad_norm"], rel=1e-5)
    for name, w in weights(alone).items():
        torch.testing.assert_close(w, seen[stage]["weights"][name], atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("stage", STAGES)
def test_a_rank_without_work_joins_in_D02(seen, stage):
    assert seen[stage]["lone"]["sequences"] == 1
    assert seen[stage]["lone"]["grad_norm"] > 0


@pytest.mark.parametrize("stage", STAGES)
def test_rubbish_under_the_mask_changes_nothing_L03(seen, stage):
    clean, dirty = seen[stage]["still"]["clean"], seen[stage]["still"]["dirty"]
    assert clean["grad_norm"] > 0
    assert clean == dirty


@pytest.mark.parametrize("stage", STAGES)
def test_without_a_learning_rate_or_an_advantage_nothing_moves(seen, stage):
    still = seen[stage]["still"]
    assert not still["moved"]
    assert still["silent"]["skipped"] and not still["clean"]["skipped"]


@pytest.mark.parametrize("stage", STAGES)
def test_memory_that_runs_out_on_one_rank_repeats_the_update_on_both(seen, stage):
    """In the forward pass of rank 0; in the second update in the reference of rank 1, and repeated, in its backward pass."""
    first, second = seen[stage]["stats"]
    for repeated, roomy in ((seen[stage]["repeated"], first), (seen[stage]["repeated_again"], second)):
        assert repeated["grad_norm"] == pytest.approx(roomy["grad_norm"], rel=1e-5)
        assert repeated["loss"] == pytest.approx(roomy["loss"], rel=1e-5, abs=1e-6)
    for name, w in seen[stage]["weights"].items():
        torch.testing.assert_close(seen[stage]["repeated_weights"][name], w, atol=2e-6, rtol=1e-5)
    assert seen[stage]["repeated"]["diagnostics"]["ratio"] == 1.0
    assert seen[stage]["failed_on"] == [[True, False, False, False], [False, True, True, True]]
    assert seen[stage]["halvings"] == [1, 2, 1]


@pytest.mark.parametrize("stage", STAGES)
def test_memory_that_runs_out_on_one_rank_without_gradient_repeats_the_passes_on_both(seen, stage):
    assert seen[stage]["gap"] < 1e-5


@pytest.mark.parametrize("stage", STAGES)
def test_exports_are_whole_and_equal_on_disk_W05(seen, scratch, tiny_model, stage):
    saved = AutoModelForCausalLM.from_pretrained(scratch / f"hf{stage}")
    base = AutoModelForCausalLM.from_pretrained(tiny_model)
    final = seen[stage]["final"]
    assert {n: tuple(w.shape) for n, w in final.items()} == {n: tuple(p.shape) for n, p in base.named_parameters()}
    for name, p in saved.named_parameters():
        assert torch.equal(p, final[name])
        assert not torch.equal(p, base.get_parameter(name))


@pytest.mark.parametrize("stage", STAGES)
def test_scores_are_those_of_the_saved_model(seen, scratch, stage):
    model = load(scratch / f"hf{stage}")
    for s, values in zip(sequences(5), seen[stage]["scored"], strict=True):
        tokens = s.prompt_ids + s.response_ids
        with torch.no_grad():
            logprobs = torch.log_softmax(model(torch.tensor([tokens])).logits[0], -1)
        assert values == pytest.approx([logprobs[t - 1, tokens[t]].item() for t in range(1, len(tokens))], abs=1e-4)


def test_bfloat16_on_two_ranks_is_near_float32(seen, plain):
    stats, weights = seen["bfloat16"]["stats"], seen["bfloat16"]["weights"]
    assert stats["grad_norm"] == pytest.approx(plain[0][0]["norm"], rel=0.1)
    assert all(w.dtype == torch.bfloat16 and w.isfinite().all() for w in weights.values())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_rank_holds_its_part_of_the_model_from_the_first_moment(seen, dtype):
    loaded = seen["loaded"][dtype]
    assert loaded["held"].keys() == loaded["sizes"].keys()
    for name, size in loaded["sizes"].items():
        assert loaded["held"][name] == (0, -(-size // 2)), name  # the weight itself is empty, its part is half of it
    assert all(loaded["equal"]) and all(loaded["buffers"]) and loaded["buffers"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_training_is_to_the_bit_that_of_a_model_every_rank_has_loaded_whole(seen, dtype):
    parted, whole = seen["loaded"][dtype]["stats"]
    assert parted == whole and parted["grad_norm"] > 0
    assert all(seen["loaded"][dtype]["trained"])
