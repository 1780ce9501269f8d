"""Two shrunk steps of many recipes in one process, as `ada check` does for one: imports and process group are paid for once.

python tests/run/check_recipes.py RECIPE ...    (none: all in recipes/)
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "TORCH_CPP_LOG_LEVEL": "ERROR"}
os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).parents[2]


def main(names: list[str]) -> int:
    """One line for each recipe; 1 where something did not hold. Responses are drawn by transformers, which starts faster than vLLM."""
    from ada.recipe.validate import read_recipe
    from ada.trainer.distributed import start_distributed

    start_distributed()
    from ada.check.problems import sums
    from ada.check.shrink import shrunk
    from ada.check.two_steps import two_steps

    failed = False
    for name in names or sorted(path.stem for path in (ROOT / "recipes").glob("*.yaml")):
        began = time.monotonic()
        _, recipe = read_recipe(name, ["engine=transformers"])
        with tempfile.TemporaryDirectory() as scratch:
            outcome = two_steps(shrunk(recipe, sums(4), Path(scratch)))
        failed |= bool(outcome.faults)
        print(f"{name} {time.monotonic() - began:.1f} s: {'; '.join(outcome.faults) or 'sound'}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
