"""One contract, both engines, real models."""

from __future__ import annotations

import dataclasses
import importlib.util
import math
import os
import random
from collections.abc import Iterator
from unittest import mock

import numpy
import pytest
import torch

from ada.engine.base import Ended, GuardedEngine, Tokens
from ada.engine.engines.transformers import Transformers, TransformersEngine
from ada.engine.engines.vllm import VLLM
from ada.engine.errors import EngineError, ResponseError
from ada.engine.generation import Generation
from ada.engine.sync import SyncError, sync
from ada.ranks import Ranks
from ada.types import Draw, Prompt, Response
from tests.engine.conftest import ENDS, EVALUATION, GENERATION, VOCABULARY, random_qwen2

Model = torch.nn.Module
Marks = tuple[object, ...]


def marks_left() -> Marks:
    """What a trainer in this process would notice of an engine."""
    _, keys, position, *_ = numpy.random.get_state()
    torch_state = tuple(torch.get_rng_state().tolist())
    environment = {name: value for name, value in os.environ.items() if not name.startswith("VLLM_") and name != "PYTEST_CURRENT_TEST"}
    return random.getstate(), keys.tolist(), position, torch_state, torch.set_num_threads, torch.get_num_threads(), environment


@dataclasses.dataclass
class Started:
    engine: GuardedEngine
    before: Marks
    after: Marks
    refusal: str  # what it answered to a draw before it had weights


@pytest.fixture(scope="module", params=["transformers", pytest.param("vllm", marks=pytest.mark.slow)])
def started(request: pytest.FixtureRequest, tied_folder: str) -> Iterator[Started]:
    if request.param == "vllm":
        if importlib.util.find_spec("vllm") is None:
            pytest.skip("vllm is not installed")
        request.getfixturevalue("process_group")
        import vllm  # noqa: F401  its import sets TORCHINDUCTOR_* variables of its own, once
    settings = {"vllm": VLLM, "transformers": Transformers}[request.param](max_concurrent=24)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    for seeded in (random.seed, numpy.random.seed, torch.manual_seed):
        seeded(123)
    with mock.patch.dict(os.environ, {"LOCAL_WORLD_SIZE": "1", "LD_PRELOAD": ""}):
        before = marks_left()
        engine = settings.start(tied_folder, GENERATION, "float32", seed=0, evaluation=EVALUATION)
        after = marks_left()
        with pytest.raises(EngineError) as refusal:
            engine.submit(draw(0))
        yield Started(engine, before, after, str(refusal.value))
        engine.close()
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def models() -> list[Model]:
    return [random_qwen2(tied=True, seed=seed) for seed in (11, 12)]


@pytest.fixture
def engine(started: Started, models: list[Model]) -> Iterator[GuardedEngine]:
    """With the weights of models[0] as version 7, and nothing running."""
    if started.engine.weight_version != 7:
        started.engine.load_weights(models[0].named_parameters(), 7)
    yield started.engine
    started.engine.abort(list(started.engine._running.values()))
    started.engine.generation = GENERATION


def prompt(number: int, length: int = 9) -> Prompt:
    generator = random.Random(number)
    return Prompt(f"p/{number}-{length}", tuple(generator.randrange(3, VOCABULARY) for _ in range(length)), "", "p", "")


def draw(number: int, index: int = 0, length: int = 9, seed: int | None = None) -> Draw:
    return Draw(prompt(number, length), index, 2**62 + 1000 * number + index if seed is None else seed)


def finish(engine: GuardedEngine, draws: list[Draw]) -> dict[tuple[str, int], Response]:
    """All that runs, these draws too, to its end."""
    wanted = {(each.prompt.id, each.index) for each in [*engine._running.values(), *draws]}
    for each in draws:
        engine.submit(each)
    done: dict[tuple[str, int], Response] = {}
    for _ in range(1000):
        for response in engine.step():
            assert (response.prompt_id, response.draw) not in done
            done[response.prompt_id, response.draw] = response
        if len(done) == len(wanted):
            break
    assert done.keys() == wanted
    return done


@torch.no_grad()
def logits_after(model: Model, prompt_ids: tuple[int, ...], response_ids: tuple[int, ...]) -> numpy.ndarray:
    """[response tokens, vocabulary], by a plain forward of the whole sequence."""
    logits = model(input_ids=torch.tensor([prompt_ids + response_ids]), use_cache=False).logits[0]
    return logits[len(prompt_ids) - 1 : -1].double().numpy()


def expected_logprob(logits: numpy.ndarray, token: int, law: Generation) -> float:
    """The law spelled out for one token: temperature, then top_k, then the smallest set of likeliest tokens with mass >= top_p."""
    scaled = logits / law.temperature
    likeliest_first = sorted(range(len(scaled)), key=lambda i: -scaled[i])
    kept = likeliest_first[: law.top_k or len(scaled)]
    weights = {i: math.exp(scaled[i] - scaled[kept[0]]) for i in kept}
    total, nucleus, mass = sum(weights.values()), [], 0.0
    for i in kept:
        nucleus.append(i)
        mass += weights[i] / total
        if mass >= law.top_p and law.top_p < 1:
            break
    assert token in nucleus
    return math.log(weights[token] / sum(weights[i] for i in nucleus))


def assert_of_model(model: Model, engine: GuardedEngine, draws: list[Draw], tolerance: float = 1e-5) -> None:
    """The draws' log-probs are those of `model` under the engine's law."""
    done = finish(engine, draws)
    for each in draws:
        response = done[each.prompt.id, each.index]
        logits = logits_after(model, each.prompt.token_ids, response.token_ids)
        wanted = [expected_logprob(row, token, engine.generation) for row, token in zip(logits, response.token_ids, strict=True)]
        assert response.logprobs == pytest.approx(wanted, abs=tolerance)


def test_evaluation_draws_by_its_own_law_and_training_by_its_own_again_Z03(engine: GuardedEngine, models: list[Model]) -> None:
    """Half as many tokens again, at another temperature: some responses are longer than training's may be."""
    draws = [draw(number, index) for number in range(4) for index in range(3)]
    alone = finish(engine, draws)
    with engine.drawing(EVALUATION):
        assert_of_model(models[0], engine, draws)
        lengths = [len(response.token_ids) for response in finish(engine, draws).values()]
        engine.submit(draws[0])
        with pytest.raises(EngineError, match="cannot change the law of sampling while 1 draws run"), engine.drawing(GENERATION):
            pass
        engine.abort(draws[:1])
    assert max(lengths) > GENERATION.max_response_tokens
    assert finish(engine, draws) == alone
    wide = dataclasses.replace(EVALUATION, max_response_tokens=EVALUATION.max_response_tokens + 1)
    with pytest.raises(EngineError, match="191 tokens, but the engine has room for 190"), engine.drawing(wide):
        pass


def held_sequences() -> list[tuple[int, ...]]:
    return [prompt(number, length).token_ids for number, length in ((1, 12), (2, 30), (3, 180))]


@torch.no_grad()
def scores_by(model: Model, sequences: list[tuple[int, ...]]) -> list[list[float]]:
    scores = []
    for sequence in sequences:
        logprobs = model(input_ids=torch.tensor([sequence]), use_cache=False).logits[0].double().log_softmax(-1)
        scores.append([logprobs[place, token].item() for place, token in enumerate(sequence[1:])])
    return scores


def assert_scores_of(model: Model, engine: GuardedEngine) -> None:
    for ours, theirs in zip(engine.score(held_sequences()), scores_by(model, held_sequences()), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-4)


def test_nothing_is_generated_before_weights_are_loaded_W04(started: Started) -> None:
    assert "load_weights" in started.refusal


def test_starting_an_engine_leaves_no_mark_on_the_process_E01(started: Started) -> None:
    assert started.after == started.before


def test_using_an_engine_leaves_no_mark_on_the_process_E01(engine: GuardedEngine, models: list[Model]) -> None:
    before = marks_left()
    finish(engine, [draw(0), draw(1)])
    engine.load_weights(models[0].named_parameters(), 7)
    engine.score(held_sequences())
    assert marks_left() == before


@pytest.mark.parametrize(
    "law",
    [
        {},
        {"temperature": 0.7},
        {"temperature": 1.3, "top_p": 0.8},
        {"top_k": 5},
        {"temperature": 0.9, "top_k": 6, "top_p": 0.7},
    ],
    ids=str,
)
def test_logprobs_are_of_the_law_that_was_drawn_from_P02(engine: GuardedEngine, models: list[Model], law: dict[str, float]) -> None:
    engine.generation = dataclasses.replace(GENERATION, **law)
    assert_of_model(models[0], engine, [draw(number, index) for number in range(4) for index in range(3)])


def test_a_draw_does_not_depend_on_its_company(engine: GuardedEngine) -> None:
    draws = [draw(number, index, length) for number, length in ((1, 9), (2, 4), (3, 150)) for index in range(12)]
    together = finish(engine, draws)
    reversed_order = finish(engine, [draw(9, index) for index in range(5)] + draws[::-1])
    alone = finish(engine, draws[17:18])
    for each in draws:
        key = (each.prompt.id, each.index)
        assert reversed_order[key] == together[key]  # ids and log-probs, bit for bit: float32 on one thread
    assert alone == {key: together[key] for key in alone}


def test_every_draw_has_its_own_seed(engine: GuardedEngine) -> None:
    done = finish(engine, [draw(1, index) for index in range(6)] + [draw(1, 6, seed=draw(1, 0).seed)])
    assert len({done["p/1-9", index].token_ids for index in range(6)}) == 6
    assert done["p/1-9", 6].token_ids == done["p/1-9", 0].token_ids


def test_every_end_id_ends_a_response_M02(engine: GuardedEngine) -> None:
    responses = finish(engine, [draw(number, index) for number in range(8) for index in range(12)]).values()
    for response in responses:
        assert not set(response.token_ids[:-1]) & set(ENDS)
        if response.finish_reason == "stop":
            assert response.token_ids[-1] in ENDS
        else:
            assert len(response.token_ids) == GENERATION.max_response_tokens and response.token_ids[-1] not in ENDS
    assert {response.token_ids[-1] for response in responses if response.finish_reason == "stop"} == set(ENDS)
    assert {response.finish_reason for response in responses} == {"stop", "length"}
    assert all(response.weight_version == 7 for response in responses)


def test_aborted_draws_never_show_up(engine: GuardedEngine) -> None:
    draws = [draw(number) for number in range(40)]  # more than decode at once
    for each in draws:
        engine.submit(each)
    done = engine.step() + engine.step()
    kept = {("p/3-9", 0), ("p/39-9", 0)} | {(response.prompt_id, response.draw) for response in done}
    engine.abort([each for each in draws if (each.prompt.id, each.index) not in kept] + [draw(99)])
    for _ in range(60):
        done += engine.step()
    assert {(response.prompt_id, response.draw) for response in done} == kept
    assert finish(engine, [draws[5]])  # and may be asked for again


def test_tokens_of_aborted_draws_are_told(engine: GuardedEngine) -> None:
    """Each step of the engine gives every running draw one token."""
    draws = [draw(number) for number in range(4)]
    for each in draws:
        engine.submit(each)
    done = [response for _ in range(3) for response in engine.step()]
    ended = {(response.prompt_id, response.draw) for response in done}
    left = [each for each in draws if (each.prompt.id, each.index) not in ended]
    assert left and engine.abort(left) == 3 * len(left)
    assert engine.abort(left) == 0


def interrupted(engine: GuardedEngine, draws: list[Draw], steps: int) -> list[Draw]:
    """Those of `draws` that have not finished after so many steps of the engine, at rest."""
    for each in draws:
        engine.submit(each)
    done = {(response.prompt_id, response.draw) for _ in range(steps) for response in engine.step()}
    resting = engine.interrupt(draws)
    assert not engine._running
    assert {(each.prompt.id, each.index) for each in resting} == {(each.prompt.id, each.index) for each in draws} - done
    return resting


def test_interrupted_and_continued_a_draw_is_the_one_that_never_was(engine: GuardedEngine) -> None:
    if not isinstance(engine, TransformersEngine):
        pytest.skip("vLLM begins with other random numbers after an interruption")
    draws = [draw(number, index, length) for number, length in ((1, 9), (2, 4), (3, 150)) for index in range(10)]  # more than run at once
    straight = finish(engine, draws)
    resting = interrupted(engine, draws, 3)
    assert {0, 3} <= {len(each.begun) for each in resting}  # some had to wait for their turn
    again = {(each.prompt.id, each.index): each for each in interrupted(engine, resting[::-1], 2)}
    assert {2, 5} <= {len(each.begun) for each in again.values()}
    for key, response in finish(engine, list(again.values())).items():
        whole = straight[key]
        assert (response.token_ids, response.finish_reason) == (whole.token_ids, whole.finish_reason)
        assert response.logprobs == pytest.approx(whole.logprobs, abs=1e-5)
        assert response.earlier == again[key].begun.versions and sum(n for _, n in response.versions) == len(whole.token_ids)


def test_each_token_has_the_log_prob_of_the_weights_that_drew_it(engine: GuardedEngine, models: list[Model]) -> None:
    """And a response has the tokens of its budget, over all its parts."""
    resting = interrupted(engine, [draw(number, index) for number in range(4) for index in range(6)], 6)
    engine.load_weights(models[1].named_parameters(), 8)
    responses = finish(engine, resting)
    for each in resting:
        response = responses[each.prompt.id, each.index]
        assert (response.earlier, response.weight_version) == (((7, 6),), 8)
        assert response.token_ids[:6] == each.begun.token_ids and response.logprobs[:6] == each.begun.logprobs
        of_models = [logits_after(model, each.prompt.token_ids, response.token_ids) for model in models]
        rows = [*of_models[0][:6], *of_models[1][6:]]
        wanted = [expected_logprob(row, token, GENERATION) for row, token in zip(rows, response.token_ids, strict=True)]
        assert response.logprobs == pytest.approx(wanted, abs=1e-5)
        assert len(response.token_ids) <= GENERATION.max_response_tokens
        assert (response.finish_reason == "stop") == (response.token_ids[-1] in ENDS)
    assert any(len(r.token_ids) == GENERATION.max_response_tokens and r.finish_reason == "length" for r in responses.values())


def test_tokens_from_before_an_interruption_are_not_told_again(engine: GuardedEngine) -> None:
    resting = interrupted(engine, [draw(number) for number in range(4)], 3)
    assert resting
    for each in resting:
        engine.submit(each)
    ended = {response.prompt_id for response in engine.step()}
    assert engine.abort(resting) == len([each for each in resting if each.prompt.id not in ended])


def test_a_draw_without_room_does_not_go_on(engine: GuardedEngine) -> None:
    resting, *_ = interrupted(engine, [draw(number) for number in range(8)], 5)
    engine.generation = dataclasses.replace(GENERATION, max_response_tokens=5)
    with pytest.raises(EngineError, match="-9 draw 0 has 5 tokens already, and a response may have 5 "):
        engine.submit(resting)


def test_what_cannot_be_used_is_drawn_again_P02(engine: GuardedEngine, models: list[Model]) -> None:
    """Log-probs that are no numbers; and a response that ended beside one of those and was not handed out yet."""
    draws = [draw(number) for number in range(3)]
    for each in draws:
        engine.submit(each)
    ended = [Ended(draws[0], [5], [math.nan], "length"), Ended(draws[1], [5, 1], [-1.0, -2.0], "stop")]
    with mock.patch.object(engine, "_decode", side_effect=[ended]), pytest.raises(ResponseError):
        engine.step()
    with mock.patch.object(engine, "_end", return_value={("p/2-9", 0): Tokens([4], [math.nan])}) as end:
        assert engine.interrupt(draws) == draws[1:]
    engine._end(end.call_args.args[0])
    engine._end([("p/0-9", 0)])
    engine.load_weights(models[0].named_parameters(), 7)


def test_a_running_draw_is_not_submitted_twice(engine: GuardedEngine) -> None:
    engine.submit(draw(4))
    with pytest.raises(EngineError, match="already running"):
        engine.submit(draw(4))


@pytest.mark.parametrize(
    ("ids", "message"), [((5,) * 161, "161 tokens"), ((), "0 tokens"), ((5, VOCABULARY), "another model"), ((-1,), "another model")]
)
def test_a_bad_prompt_is_refused_and_disturbs_nobody_G02(engine: GuardedEngine, ids: tuple[int, ...], message: str) -> None:
    engine.submit(draw(1))
    with pytest.raises(EngineError, match=message):
        engine.submit(Draw(Prompt("bad", ids, "", "p", ""), 0, 1))
    longest = [draw(3, index, length=160) for index in range(8)]
    responses = finish(engine, [draw(2), *longest])
    assert ("p/1-9", 0) in responses and ("p/2-9", 0) in responses
    cut = [r for r in responses.values() if r.prompt_id == "p/3-160" and r.finish_reason == "length"]
    assert cut and all(len(r.token_ids) == GENERATION.max_response_tokens for r in cut)  # the longest prompt leaves all of the budget (G03)


def test_a_reload_replaces_every_weight_W03_W06(engine: GuardedEngine, models: list[Model]) -> None:
    repeated = [draw(number, length=155) for number in range(3)]  # longer than a block of the prefix cache
    finish(engine, repeated)
    assert_scores_of(models[0], engine)
    engine.load_weights(models[1].named_parameters(), 8)
    assert engine.weight_version == 8
    assert_scores_of(models[1], engine)
    assert_of_model(models[1], engine, repeated)  # nothing of the old weights' keys and values is left


def broken(model: Model, fault: str) -> Iterator[tuple[str, torch.Tensor]]:
    for place, (name, tensor) in enumerate(model.named_parameters()):
        if fault == "missing" and name == "model.norm.weight":
            continue
        if fault == "raises" and place == 2:  # after a query projection, before the keys' that share its layer
            raise OSError("lost a rank")
        yield name, tensor[:0] if fault == "shard" and place == 4 else tensor
        if fault == "surplus" and place == 3:
            yield "lm_head.weight", tensor
        if fault == "twice" and place == 3:
            yield name, tensor


@pytest.mark.parametrize("fault", ["missing", "surplus", "twice", "shard", "raises"])
def test_an_incomplete_load_is_refused_until_a_complete_one_W06(engine: GuardedEngine, models: list[Model], fault: str) -> None:
    with pytest.raises(OSError if fault == "raises" else EngineError):
        engine.load_weights(broken(models[1], fault), 8)
    assert engine.weight_version == -1
    for use in (lambda: engine.submit(draw(1)), lambda: engine.score(held_sequences()), lambda: engine.trust_folder_weights(0)):
        with pytest.raises(EngineError):
            use()
    engine.load_weights(models[1].named_parameters(), 9)
    assert_scores_of(models[1], engine)


def test_weights_do_not_change_under_a_running_draw(engine: GuardedEngine, models: list[Model]) -> None:
    engine.submit(draw(1))
    with pytest.raises(EngineError, match="1 draws run"):
        engine.load_weights(models[1].named_parameters(), 8)
    with pytest.raises(EngineError, match="1 draws run"):
        engine.score(held_sequences())
    assert engine.weight_version == 7


def test_tensors_may_be_reused_once_the_next_is_asked_for(engine: GuardedEngine, models: list[Model]) -> None:
    def through_one_buffer() -> Iterator[tuple[str, torch.Tensor]]:
        for name, tensor in models[1].named_parameters():
            buffer = tensor.detach().clone()
            yield name, buffer
            buffer.fill_(torch.nan)

    engine.load_weights(through_one_buffer(), 8)
    assert_scores_of(models[1], engine)


def test_a_logprob_that_is_not_a_number_ends_its_draw_only_P02(engine: GuardedEngine, models: list[Model]) -> None:
    engine.load_weights(((name, tensor * torch.nan) for name, tensor in models[1].named_parameters()), 8)
    draws, refused = [draw(number) for number in range(5)], set()
    for each in draws:
        engine.submit(each)
    while len(refused) < 5:
        try:
            assert engine.step() == []
        except ResponseError as error:
            assert f"prompt {error.prompt_id} draw 0: log-prob nan" in str(error)
            refused.add((error.prompt_id, error.draw))
    assert refused == {(each.prompt.id, each.index) for each in draws} and engine.step() == []
    engine.load_weights(models[1].named_parameters(), 9)
    assert_of_model(models[1], engine, draws)  # no NaN is left in the caches


def test_good_responses_are_not_lost_beside_a_bad_one_P02(engine: GuardedEngine) -> None:
    draws = [draw(number) for number in range(3)]
    for each in draws:
        engine.submit(each)
    ended = [
        Ended(draws[0], [5, 1], [-1.0, -2.0], "stop"),
        Ended(draws[1], [5], [math.nan], "length"),
        Ended(draws[2], [1], [-3.0], "stop"),
    ]
    with mock.patch.object(engine, "_decode", side_effect=[ended, [], []]):
        assert [(r.prompt_id, r.logprobs) for r in engine.step()] == [("p/0-9", (-1.0, -2.0))]
        with pytest.raises(ResponseError, match="prompt p/1-9 draw 0"):
            engine.step()
        assert [(r.prompt_id, r.logprobs) for r in engine.step()] == [("p/2-9", (-3.0,))]
    engine._end({(each.prompt.id, each.index) for each in draws})


def run_sync(engine: GuardedEngine, sent: Model, actor: Model, tolerance: float = 1e-4) -> float:
    report = sync(sent.named_parameters(), engine, 8, lambda sequences: scores_by(actor, sequences), held_sequences(), tolerance, Ranks())
    assert report.parameters == sum(parameter.numel() for parameter in actor.parameters())
    return report.logprob_abs_max


def test_a_sync_proves_itself(engine: GuardedEngine, models: list[Model]) -> None:
    assert run_sync(engine, models[1], models[1]) < 1e-4
    assert engine.weight_version == 8


def test_a_sync_of_other_weights_than_the_actors_is_refused_W03(engine: GuardedEngine, models: list[Model]) -> None:
    with pytest.raises(SyncError, match="differ from the actor's by up to .* raise sync.tolerance, which is 0.0001"):
        run_sync(engine, models[0], models[1])
    with pytest.raises(EngineError, match="refuses to generate: weight sync 8 failed"):
        engine.submit(draw(1))


def test_a_sync_that_breaks_off_is_refused_W06(engine: GuardedEngine, models: list[Model]) -> None:
    with pytest.raises(SyncError, match="model.norm.weight"):
        sync(broken(models[1], "missing"), engine, 8, lambda s: scores_by(models[1], s), held_sequences(), 1e-4, Ranks())
    with pytest.raises(EngineError, match="refuses to generate"):
        engine.submit(draw(1))
