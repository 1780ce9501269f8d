"""The model that is evaluated: where its folder is, what it is called, and whether it has room for the suite's responses."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from ada.evaluation.suite import Suite
from ada.model_folder import model_folder
from ada.recipe.errors import RecipeError

_ENDS = 1 << 20  # bytes at both ends of a file that its mark is made of


@dataclass(frozen=True, slots=True)
class Model:
    folder: Path
    name: str

    @classmethod
    def find(cls, path: str) -> Model:
        """`microworld`, a hub id, a Hugging Face folder, or a run's folder: its last checkpoint. Raises FileNotFoundError, RecipeError."""
        run = Path(path).expanduser()
        if (run / "checkpoints").is_dir():
            saved = sorted(run.glob("checkpoints/step-*/huggingface"))
            if not saved:
                raise FileNotFoundError(f"{path}: a run without a checkpoint. Name a Hugging Face folder, or a run that has come to one.")
            return cls(saved[-1], f"{run.resolve().name}-{saved[-1].parent.name}")
        folder = model_folder(path, None)
        of_run = folder.resolve().parts[-4:]  # <run>/checkpoints/step-000050/huggingface
        name = f"{of_run[0]}-{of_run[2]}" if of_run[1:2] == ("checkpoints",) else Path(path).name
        return cls(folder, name or folder.resolve().name)

    def mark(self) -> str:
        """Of the weights as they are now: names, sizes, and both ends of every file, so that other weights have another mark."""
        mark = blake2b(digest_size=16)
        for file in sorted(self.folder.glob("*.safetensors")) or sorted(self.folder.glob("*.bin")):
            with file.open("rb") as opened:
                size = file.stat().st_size
                mark.update(f"{file.name} {size}\n".encode() + opened.read(_ENDS))
                opened.seek(max(0, size - _ENDS))
                mark.update(opened.read(_ENDS))
        return mark.hexdigest()


def with_positions(folder: Path, suite: Suite, scratch: Path) -> Path:
    """`folder`, or where the suite asks for other positions, a copy in `scratch` whose config says so. Raises RecipeError without room."""
    config = json.loads((folder / "config.json").read_text())
    inner = config["text_config"] if "max_position_embeddings" in config.get("text_config", {}) else config
    positions, needed = suite.positions or inner.get("max_position_embeddings"), suite.law.most_tokens
    if positions is not None and needed > positions:
        least = positions - suite.max_prompt_tokens
        shorter = f"max_response_tokens={least}, which cuts more responses off, or " if least > 0 else ""
        raise RecipeError(
            f"max_response_tokens = {suite.max_response_tokens} with max_prompt_tokens = {suite.max_prompt_tokens} makes {needed} tokens, "
            f"but {folder} has {positions} positions (max_position_embeddings). Set {shorter}positions={needed}, which goes beyond what "
            "the model was trained on; neither is done silently."
        )
    if suite.positions is None or suite.positions == inner.get("max_position_embeddings"):
        return folder
    for file in folder.iterdir():
        if file.name != "config.json":
            (scratch / file.name).symlink_to(file.resolve())
    inner["max_position_embeddings"] = suite.positions
    (scratch / "config.json").write_text(json.dumps(config))
    return scratch
