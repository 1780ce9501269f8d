"""Recipes as files: all that ship load, read back alike, extend one another, and say what is wrong with them in one line each."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ada.cli import main
from ada.recipe.arithmetic import arithmetic
from ada.recipe.errors import RecipeError
from ada.recipe.validate import dump, read_recipe
from ada.sampling.grouping import group_of
from ada.sampling.schedules.dapo import Dapo
from ada.sampling.schedules.seq import Seq
from ada.sampling.schedules.uniform import Uniform
from ada.sampling.streaming import Streaming
from ada.trainer.credit import credit
from tests.sampling.pools import pool

ROOT = Path(__file__).parents[2]
STREAMING = "sampling.streaming={open: 1.5, max_staleness: 4}"
DAPO = "sampling.schedule={name: dapo, inner: {name: uniform, draws: 4}}"
DROPPED = ["trainer.zero_variance=drop"]
RECIPES = sorted(path.stem for path in (ROOT / "recipes").glob("*.yaml"))


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)


def read(*overrides: str, name: str = "micro_seq_balance"):
    return read_recipe(name, list(overrides))[1]


def refusal(*overrides: str, name: str = "micro_seq_balance") -> str:
    with pytest.raises(RecipeError) as error:
        read(*overrides, name=name)
    return str(error.value)


def write(folder: Path, name: str, text: str) -> str:
    (folder / f"{name}.yaml").write_text(text)
    return str(folder / f"{name}.yaml")


def read_back(recipe, folder: Path):
    return read_recipe(write(folder, "back", dump(recipe)))[1]


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_loads_and_reads_back_alike_K04(name, tmp_path):
    found, recipe = read_recipe(name)
    assert found == name
    assert read_back(recipe, tmp_path) == recipe
    assert all(arithmetic(recipe, 1))


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_forms_its_groups_and_learns_from_them(name):
    """Of a pool with both outcomes, whatever its schedule: a size that the grouping refuses shows here, and credit that is always 0."""
    recipe = read(name=name)
    group = group_of(pool("RWWRRWWWWWWWWWWW", belief=0.3), recipe.sampling.group, recipe.batch.responses_per_group, seed=0)
    assert any(credit(group, recipe.advantage, recipe.objective))


@pytest.mark.parametrize("p", [0.1, 0.3, 0.9])
def test_the_est_recipe_weighs_prompts_by_one_over_p(p):
    """Draws ~ (p + epsilon)^-1/2 times a gradient weight of p^-1/2 / 2, up to epsilon (arXiv 2510.04996, the hybrid for log p)."""
    recipe = read(name="micro_est_ema")
    by_draws = (p + recipe.sampling.schedule.epsilon) ** -recipe.sampling.schedule.exponent
    assert by_draws * recipe.objective.weight(p) == pytest.approx(0.5 / p, rel=0.1)


@pytest.mark.parametrize(
    ("name", "weight"),
    [
        ("micro_grpo_n8", "weight of a prompt, as written = 1 (from draws) x 1 (from the objective)"),
        ("micro_est_ema", "= (p + 0.02)^-0.5 (from draws) x alpha * p^(alpha-1) (from the objective)"),
        ("micro_seq_balance_log", "= 1 (from draws) x 1/p (from the objective); balanced groups weigh right : wrong as (1-p) : p"),
        ("micro_seq_balance_importance", "= 1 (from draws) x 1 (from the objective)"),
        ("micro_maxrl", "x 1/p (from the advantage)"),
        ("micro_rlzvp", "x (p (1-p))^-1/2 (from the standard deviation)"),
        ("micro_ngu", "= E[draws | p] (from draws) x 1 (from the objective)"),
        ("micro_gvm_raft", "= E[draws | p] (from draws) x 1 (from the objective); right answers alone"),
    ],
)
def test_the_effective_weight_is_told_before_training(name, weight):
    (line,) = [line for line in arithmetic(read(name=name), 1) if line.startswith("objective")]
    assert line.endswith(weight)


def test_there_are_recipes_for_every_row_of_the_papers_tables():
    models = ("qwen15b", "qwen15b_hard", "qwen7b", "llama3b", "qwen4b")
    methods = "grpo_n4 grpo_n8 grpo_n16 dapo seq_pos seq_balance est_ema est_value_net gvm_raft seq_balance_dapo".split()
    assert {f"{model}_{method}" for model in models for method in methods} <= set(RECIPES)
    hard = read(name="qwen15b_hard_est_value_net")
    assert (hard.model.path, hard.data.train.path) == ("Qwen/Qwen2.5-Math-1.5B", "RLHFlow/reinforce_ada_hard_prompt_1-5b")
    assert (hard.sampling.passrate.name, hard.sampling.schedule.mean_draws, hard.batch.prompts_per_step) == ("value_net", 8, 512)


def test_there_are_recipes():
    assert {"micro_seq_balance", "micro_grpo_n4"} <= set(RECIPES)


@pytest.mark.parametrize("written", ["1e-6", "1E-6", "1.0e-06", "0.000001"])
def test_scientific_notation_is_a_number(written, tmp_path):
    assert read(f"trainer.learning_rate={written}").trainer.learning_rate == 0.000001
    own = write(tmp_path, "own", f"extends: micro_seq_balance\ntrainer: {{learning_rate: {written}}}")
    assert read(name=own).trainer.learning_rate == 0.000001
    assert read_back(read(name=own), tmp_path).trainer.learning_rate == 0.000001


def test_explicit_null_zero_and_false_survive_K04(tmp_path):
    """Each against a default or a parent that is another value."""
    parent = (
        "extends: micro_seq_balance\nseed: 5\nreward: {memory_limit_gib: 3.5}\nsampling: {in_flight: 8}\ntrainer: {learning_rate: 1.0}\n"
    )
    write(tmp_path, "parent", parent)
    child = "extends: parent\nseed: 0\nreward: {memory_limit_gib: null}\nsampling: {in_flight: null}\n"
    child += "trainer: {learning_rate: 0}\nengine: {enforce_eager: false}\n"
    recipe = read(name=write(tmp_path, "child", child))
    for seen in (recipe, read_back(recipe, tmp_path)):
        assert (seen.seed, seen.trainer.learning_rate, seen.sampling.in_flight, seen.reward.memory_limit_gib) == (0, 0, None, None)
        assert seen.engine.enforce_eager is False


def test_sizes_that_do_not_divide_are_refused_K04():
    assert "batch.updates_per_step = 3" in refusal("batch.updates_per_step=3") and "allowed are 1, 2, 4, 8" in refusal(
        "batch.updates_per_step=3"
    )


@pytest.mark.parametrize(
    ("override", "key", "near"),
    [
        ("step=3", "step", "steps"),
        ("temprature=0.7", "temprature", "generation.temperature"),
        ("generation.temprature=0.7", "generation.temprature", "temperature"),
        ("sampling.schedule.positive=1", "sampling.schedule.positive", "positives"),
        ("sampling.schedule={name: dapo, inner: {name: uniform, drawz: 4}}", "sampling.schedule.inner.drawz", "draws"),
        ("sampling.schedule={name: dapo, inner: {name: seq, exlt: pos}}", "sampling.schedule.inner.exlt", "exit"),
        ("evaluation.sets.heldout.splitt=train", "evaluation.sets.heldout.splitt", "split"),
        ("evaluation.sample=3", "evaluation.sample", "samples"),
        ("engine.max_concurent=3", "engine.max_concurent", "max_concurrent"),
        ("trainer.aggregation={name: token_mean, x: 1}", "trainer.aggregation.x", None),
        ("batch={1: 2}", "batch.1", None),
        ("true=2", "true", None),
        ("a.b.c=2", "a", None),
    ],
)
def test_unknown_keys_are_refused_at_every_level_K02(override, key, near, tmp_path):
    told = refusal(override)
    assert told.startswith(f"command line: {key} = ") and "no such key" in told and "\n" not in told
    assert near is None or f"did you mean {near!r}?" in told
    nested: object = yaml.safe_load(override.partition("=")[2])
    for part in reversed(override.partition("=")[0].split(".")):
        nested = {part: nested}
    own = write(tmp_path, "own", "extends: micro_seq_balance\n" + yaml.safe_dump(nested))
    assert refusal(name=own).startswith(f"{own}: {key} = ")


def test_a_key_of_another_method_is_refused_K02():
    told = refusal("sampling.schedule={name: uniform, draws: 4, max_draws: 3}")
    assert "sampling.schedule.max_draws = 3" in told and "known here: name, draws" in told
    assert "enforce_eager" in refusal("engine=transformers", "engine.enforce_eager=true")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("steps=3.0", "steps = 3.0: must be a valid integer"),
        ("steps='\"3\"'", "steps = "),
        ("steps=true", "steps = True: must be a valid integer"),
        ("steps=0", "steps = 0: must be greater than 0"),
        ("steps=", "steps = None: must be a valid integer"),
        ("steps=null", "steps = None: must be a valid integer"),
        ("trainer.learning_rate=fast", "trainer.learning_rate = 'fast': must be a valid number"),
        ("trainer=3", "trainer = 3: must be an object"),
        ("model.dtype=float16", "model.dtype = 'float16': must be 'float32' or 'bfloat16'"),
        ("engine=vlm", "engine = {'name': 'vlm'}: no method of this name; did you mean 'vllm'?"),
        ("sampling.schedule={name: dapo, inner: est}", "sampling.schedule.inner = 'est': no method of this name"),
        ("sampling.schedule=null", "sampling.schedule = None"),
        ("tracking.wandb=on", "tracking.wandb = True: must be 'auto', 'online', 'offline' or 'off'"),
    ],
)
def test_wrong_values_name_key_value_and_what_is_allowed(override, message):
    told = refusal(override)
    assert told.startswith("command line: ") and message in told


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["sampling.schedule={name: uniform, draws: 4}", "sampling.group=all"], "there is no fixed size; set null"),
        (["sampling.group=all"], "so there is no fixed size; set null"),
        (["batch.responses_per_group=null"], "picks a fixed number of responses"),
        (["batch.responses_per_group=5"], "set an even number"),
        (["sampling.schedule={name: uniform, draws: 2}"], "more than schedule.draws = 2"),
        (["batch.responses_per_group=34"], "more than schedule.max_draws = 32"),
        (["loss=raft"], "group `balanced` has wrong answers too"),
        (["loss=raft", "sampling.group=positives"], "use `signed`, which is 1 for each right answer"),
        (["loss=raft", "sampling.group={name: positives, importance: true}", "advantage=signed"], "importance would do nothing"),
        (["sampling.group={name: random, importance: true}"], "a random part of the pool is unbiased as it is"),
        (["sampling.group={name: all, importance: true}", "batch.responses_per_group=null"], "there is nothing to bring back"),
        (["loss=raft", "sampling.group=positives", "objective=log"], "RAFT reads neither advantages nor their weights"),
        (["sampling.group=positives", "advantage.baseline=leave_one_out"], "right answers compared with each other have no advantage"),
        (["sampling.group=positives", "advantage=ngrpo"], "right answers compared with each other have no advantage"),
        (["batch.responses_per_group=1", "sampling.group=random", "advantage.baseline=group"], "compared with itself has no advantage"),
        (["advantage=maxrl", "objective=log"], "this would weigh once more"),
        (["advantage={name: maxrl, baseline: group}"], "a balanced group's mean says nothing about the pass rate"),
        ([DAPO], "schedule `dapo` replaces prompts without a gradient"),
        ([DAPO, "trainer.zero_variance=drop", "advantage=ngrpo"], "schedule `dapo` replaces them; use one of the two"),
        ([DAPO, "trainer.zero_variance=drop", "advantage=rlzvp"], "schedule `dapo` replaces them; use one of the two"),
        ([DAPO, "trainer.zero_variance=drop", "advantage=signed"], "gets credit from advantage `signed` all the same"),
        ([DAPO, "trainer.zero_variance=drop", "trainer.overlong={buffer_tokens: 4}"], "gets credit from trainer.overlong all the same"),
        (
            [DAPO, "sampling.schedule.inner.draws=8", *DROPPED, "sampling.group=random", "advantage.baseline=group"],
            "may be all alike",
        ),
        (["advantage=signed", "objective=log"], "advantage `signed` gives credit to prompts never right"),
        (
            ["advantage.baseline=belief", "sampling.passrate=ema", "objective=log"],
            "baseline `belief` gives credit to prompts",
        ),
        (["trainer.overlong={buffer_tokens: 4}", "objective=log"], "trainer.overlong gives credit to prompts never right"),
        (["trainer.overlong={buffer_tokens: 4}", "advantage=signed"], "`signed` reads no rewards"),
        (["trainer.overlong={buffer_tokens: 4}", "advantage=maxrl"], "a penalty makes rewards negative"),
        (["sampling.group={name: positives, importance: true}", "batch.responses_per_group=null"], "without a fixed size"),
        (["advantage=rlzvp", "trainer.zero_variance=reject"], "which this leaves out; set keep"),
        (["advantage=rlzvp", "objective=log"], "where f'(0) would be the floor's"),
        (["advantage={name: rlzvp, otherwise: {baseline: belief}}"], "baseline `belief` needs a belief"),
        (["sampling.schedule={name: est}"], "schedule `est` needs a belief"),
        (["sampling.passrate=ema"], "nothing in this recipe reads the belief"),
        ([STREAMING, "sampling.schedule=est", "sampling.passrate=ema"], "schedule `est` divides draws over the prompts of a step"),
        ([STREAMING, "sampling.schedule=two_stage"], "schedule `two_stage` divides draws over the prompts of a step"),
        ([STREAMING, DAPO, "trainer.zero_variance=drop"], "schedule `dapo` opens prompts until a step has enough of them"),
        ([STREAMING, "sampling.in_flight=belief", "sampling.passrate=value_net"], "here prompts are trained on in later ones; use ema"),
        (["generation.top_p=0.9"], "a truncated law would bias every ratio"),
        (["sampling.schedule.max_draws=30"], "not a multiple of schedule.check_every = 4"),
        (["evaluation.sets.a@b=microworld"], "becomes part of a metric's name"),
        (["evaluation.sets.microworld=microworld"], "no two prompts may share an id"),
        (["trainer.correction=tis", "trainer.old_logprobs=from_sampler"], "the weight is always 1"),
        (["trainer.zero_stage=0", "model.dtype=bfloat16"], "set 1, which computes the same"),
        (["trainer.overlong={buffer_tokens: 21}"], "more than generation.max_response_tokens = 20"),
        (["trainer.kl=k3"], "trainer.kl.coefficient is missing"),
        (["data.train={name: reasoning_gym}"], "data.train.tasks is missing"),
        (["data.prompt.system=hello"], "a raw prompt has no system message"),
    ],
)
def test_combinations_that_make_no_sense_are_refused(overrides, message):
    assert message in refusal(*overrides)


def test_a_default_that_does_not_go_with_a_key_is_blamed_on_no_file():
    told = refusal(DAPO)
    assert told.startswith("trainer.zero_variance = 'keep', which is its default: schedule `dapo` replaces prompts without a gradient")
    assert refusal("batch.responses_per_group=null").startswith("command line: batch.responses_per_group = None: group `balanced`")


def test_combinations_that_make_sense_are_not():
    assert read("sampling.schedule={name: uniform, draws: 8}", "sampling.group=all", "batch.responses_per_group=null")
    assert read("sampling.schedule={name: est}", "sampling.passrate=ema")
    assert read("advantage=maxrl") and read("advantage={name: maxrl, baseline: group}", "sampling.group=random") and read("advantage=ngrpo")
    assert read("sampling.group=positives") and read("sampling.group=positives", "loss=raft", "advantage=signed")
    for group in ("balanced", "max_variance", "positives"):
        assert read(f"sampling.group={{name: {group}, importance: true}}").sampling.group.importance
    assert read("advantage=rlzvp") and read("advantage=signed", "trainer.zero_variance=reject")
    assert read(DAPO, "advantage=signed", "trainer.zero_variance=reject")
    assert read(DAPO, "trainer.overlong={buffer_tokens: 4}", "trainer.zero_variance=reject")
    assert read(DAPO, *DROPPED, "sampling.group=random")
    assert read("advantage=signed", "objective=log", "trainer.zero_variance=reject")
    for selection in ("mopps", "greso", "curriculum"):
        assert read(f"data.selection={selection}").data.selection.name == selection
    for schedule in ("uniform", "ngu", "{name: speed, screen: 2, draws: 8}"):
        assert read(STREAMING, f"sampling.schedule={schedule}").sampling.streaming == Streaming(open=1.5, max_staleness=4)
    assert read("data.prompt={style: chat, system: hello}").data.prompt.system == "hello"


def test_every_mistake_is_told_at_once_in_a_line_each():
    lines = refusal("steps=no", "trainer.learning_rate=-1", "generation.temperature=0").splitlines()
    assert [line.split(" = ")[0].removeprefix("command line: ") for line in lines] == [
        "steps",
        "generation.temperature",
        "trainer.learning_rate",
    ]


def test_extends_merges_key_by_key_over_a_chain(tmp_path):
    write(tmp_path, "a", "extends: micro_seq_balance\nsteps: 7\nbatch: {prompts_per_step: 16}\n")
    write(tmp_path, "b", "extends: a.yaml\nbatch: {updates_per_step: 4}\n")
    name, recipe = read_recipe(write(tmp_path, "c", "extends: b\nseed: 3\n"))
    assert name == "c"
    assert (recipe.seed, recipe.steps, recipe.batch.prompts_per_step, recipe.batch.updates_per_step) == (3, 7, 16, 4)
    assert recipe.batch.responses_per_group == read().batch.responses_per_group


def test_of_several_parents_the_later_lies_over_the_earlier(tmp_path):
    write(tmp_path, "model", "extends: micro_seq_balance\nsteps: 7\nseed: 3\n")
    method = write(tmp_path, "method", "seed: 5\nsampling: {schedule: {name: uniform, draws: 6}}\nbatch: {responses_per_group: 2}\n")
    recipe = read(name=write(tmp_path, "both", "extends: [model, method]\nbatch: {updates_per_step: 4}\n"))
    assert (recipe.steps, recipe.seed, recipe.sampling.schedule, recipe.batch.updates_per_step) == (7, 5, Uniform(draws=6), 4)
    assert (recipe.batch.responses_per_group, recipe.batch.prompts_per_step) == (2, read().batch.prompts_per_step)
    wrong = write(tmp_path, "wrong", "extends: [model, method]\nsampling: {group: all}\n")
    assert refusal(name=wrong).startswith(f"{method}: batch.responses_per_group = 2: group `all`")


def test_a_mistake_is_laid_at_the_file_that_wrote_it(tmp_path):
    parent = write(tmp_path, "a", "extends: micro_seq_balance\nsteps: -7\n")
    child = write(tmp_path, "b", "extends: a\nseed: -1\n")
    assert [line.split(": ")[0] for line in sorted(refusal(name=child).splitlines())] == [parent, child]


def test_another_method_drops_the_keys_of_the_old(tmp_path):
    own = write(tmp_path, "own", "extends: micro_seq_balance\nsampling: {schedule: {name: uniform, draws: 6}}\n")
    assert read(name=own).sampling.schedule == Uniform(draws=6)
    assert read("sampling.schedule=uniform").sampling.schedule == Uniform()
    assert read("sampling.schedule.name=uniform").sampling.schedule == Uniform()
    assert read(DAPO, "trainer.zero_variance=drop").sampling.schedule == Dapo(inner=Uniform(draws=4))
    assert read("sampling.schedule.exit=pos", "sampling.schedule.negatives=null").sampling.schedule == Seq(
        exit="pos", check_every=4, max_draws=32, positives=2
    )


def test_a_method_named_by_a_word_takes_keys_from_above(tmp_path):
    write(tmp_path, "a", "extends: micro_seq_balance\nengine: transformers\n")
    assert read(name=write(tmp_path, "b", "extends: a\nengine: {max_concurrent: 8}\n")).engine.max_concurrent == 8


def test_extends_in_a_circle_is_refused(tmp_path):
    write(tmp_path, "a", "extends: b\n")
    assert "`extends` leads back to this file" in refusal(name=write(tmp_path, "b", "extends: a\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("steps: [1", "not valid YAML"),
        ("- 1", "found a list"),
        ("extends: 3", "extends = 3; allowed is the name"),
        ("extends: micro_seq_balanc", "Did you mean 'micro_seq_balance' or "),
        ("extends: micro\nseed: ${nothing}", "nothing"),
        ("steps: 3", "batch is missing"),
    ],
)
def test_a_file_that_is_no_recipe_says_so(text, message, tmp_path):
    own = write(tmp_path, "own", text)
    assert message in refusal(name=own)


def test_tracking_off_is_a_word_K04(tmp_path):
    for recipe in (read("tracking.wandb=off"), read(name=write(tmp_path, "own", "extends: micro_seq_balance\ntracking: {wandb: off}"))):
        assert recipe.tracking.wandb == "off"
        assert read_back(recipe, tmp_path).tracking.wandb == "off"


@pytest.mark.parametrize("arguments", [["train", "micro", "--rec", "x"], ["tra", "micro"], ["train", "micro", "--he"], ["--hel"]])
def test_the_command_line_takes_no_abbreviations_K03(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [["micro_seq_balance", "temprature=0.7"], ["micro_seq_balanc"]],
)
def test_train_with_a_wrong_recipe_exits_2_with_one_line(arguments, tmp_path):
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "ada", "train", *arguments], capture_output=True, text=True, env=env, cwd=tmp_path, timeout=60
    )
    assert done.returncode == 2
    assert done.stdout == "" and len(done.stderr.splitlines()) == 1 and done.stderr.startswith("error: ")
    assert list(tmp_path.iterdir()) == []
