"""Which folder a recipe's `model.path` means."""

from __future__ import annotations

import json
from pathlib import Path

from ada.data.microworld import BASE
from ada.recipe.errors import RecipeError


def model_folder(path: str, family: str | None) -> Path:
    """The Hugging Face folder of `microworld`, of a local path, or of a hub id (downloaded once, then from the cache).

    `family`: the model_type it must have; None: any.

    Raises FileNotFoundError or RecipeError with the key to change.
    """
    folder = BASE if path == "microworld" else Path(path).expanduser()
    if not folder.is_dir():
        folder = _from_hub(path)
    if not (folder / "config.json").is_file():
        raise FileNotFoundError(f"model.path = {path!r}: {folder} holds no config.json; it must be a Hugging Face model folder.")
    found = json.loads((folder / "config.json").read_text()).get("model_type")
    if family is not None and found != family:
        raise RecipeError(f"model.family = {family!r}, but {folder}/config.json says model_type {found!r}. Set model.family={found}.")
    return folder


def _from_hub(path: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(path, ignore_patterns=["*.bin", "*.pth", "*.gguf", "original/*"]))
    except (HFValidationError, HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise FileNotFoundError(
            f"model.path = {path!r}: no such folder here, and the Hugging Face hub did not give it ({reason}). "
            "Give a local folder, or download it first: hf download " + path
        ) from None
