"""Examples at the end of each command's help; the tests take every one of them."""

from __future__ import annotations

EXAMPLES = {
    "train": (
        "ada train micro_seq_balance",
        "ada train micro_grpo_n4 steps=50 batch.prompts_per_step=16 run_name=first",
        "ada train micro_seq_balance engine=transformers tracking.wandb=off",
    ),
    "check": ("ada check qwen15b_seq_balance", "ada check gsm8k_jsonl data.train.path=train.jsonl"),
    "prepare": ("ada prepare gsm8k_jsonl data.train.path=train.jsonl --output prepared --keep '1..2 of 16'",),
    "plan": ("ada plan qwen15b_seq_balance --pass-rates 'beta(0.4,1.2)' --mean-tokens 800",),
    "simulate": ("ada simulate micro_seq_balance --plot draws.png --output draws.csv",),
    "simulate steps": (
        "ada simulate steps --gpus 1,8,64 --plot steps.png",
        "ada simulate steps qwen15b_seq_balance sampling.in_flight=24",
    ),
    "gradients": ("ada gradients micro_seq_balance --pass-rates 'beta(0.5,1.5)'",),
    "recipes": ("ada recipes", "ada recipes qwen15b est"),
    "report": ("ada report micro_seq_balance", "ada report micro_seq_balance micro_grpo_n4 --output comparison.html"),
    "reproduce": ("ada reproduce quick", "ada reproduce --seeds 3 --minutes 40"),
    "eval": (
        "ada eval microworld micro samples=8",
        "ada eval runs/micro_seq_balance micro --against evals/microworld-micro",
        "ada eval Qwen/Qwen2.5-Math-1.5B math500 samples=32 --output evals/base",
    ),
    "compare": ("ada compare evals/base evals/trained",),
    "runs": ("ada runs", "ada runs runs/reproduce"),
    "dashboard": ("ada dashboard", "ada dashboard --project ada --entity my-team"),
    "doctor": ("ada doctor",),
}
FIRST_STEPS = """first steps:
  ada doctor                             does the installation work?
  ada recipes micro                      what can be trained in minutes, without a GPU
  ada check micro_seq_balance            is a recipe sound? Two real steps of it, shrunk
  ada train micro_seq_balance steps=50   train; any recipe key may be changed
  ada report micro_seq_balance           what came of it, in a browser

`ada COMMAND --help` explains a command, with examples. docs/ explains the rest."""


def epilog(command: str) -> str:
    return "\n".join(["examples:", *(f"  {example}" for example in EXAMPLES[command])])
