from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit
from urllib.request import getproxies

from pydantic import Field

from ada.config import config
from ada.data.columns import Columns, Record
from ada.data.sources import DataError, MissingData

if TYPE_CHECKING:
    from datasets import Dataset

_SECONDS = 5.0  # for a connection to the hub


@config
class HuggingFace(Columns):
    """Problems from a data set of the Hugging Face hub, downloaded once and then read from the cache, or from a folder of one."""

    name: Literal["huggingface"] = "huggingface"
    path: Annotated[str, Field(description="the hub's owner/name, or a folder: written by save_to_disk, or with data files in it")]
    split: Annotated[str, Field(description="which of the data set's splits; a part of it as in train[:1000]")] = "train"
    subset: Annotated[str | None, Field(description="configuration, where the data set has several; null: its default")] = None
    revision: Annotated[str | None, Field(description="commit or tag on the hub; null: the newest")] = None

    def records(self) -> Iterator[Record]:
        dataset = self._opened()
        wanted = {name.partition(".")[0] if name not in dataset.column_names else name for name in self.mapped}
        if wanted <= set(dataset.column_names):  # else the message about the missing one names all that are there
            dataset = dataset.select_columns(sorted(wanted))
        for number, record in enumerate(dataset, start=1):
            yield f"{self.path}, split {self.split!r}, row {number}", number, record

    def _opened(self) -> Dataset:
        """Raises MissingData where it is neither here nor to be had, DataError where it is not what the recipe says."""
        import datasets
        from datasets.exceptions import DatasetNotFoundError

        progress, folder = datasets.is_progress_bar_enabled(), Path(self.path).expanduser()
        datasets.disable_progress_bars()
        try:
            if (folder / "dataset_dict.json").is_file() or (folder / "state.json").is_file():
                return self._saved(folder)
            path = str(folder) if folder.is_dir() else self.path
            with nullcontext() if folder.is_dir() or hub_answers() else _offline():
                return datasets.load_dataset(path, self.subset, split=self.split, revision=self.revision)
        except DataError:
            raise
        except (DatasetNotFoundError, ConnectionError, FileNotFoundError) as error:
            raise MissingData(self._missing(error)) from None
        except Exception as error:  # a library that raises many kinds: whatever it is, this data set cannot be read as named
            if "Couldn't find cache for" in str(error):
                raise MissingData(self._missing(error)) from None
            raise DataError(
                f"{self.path}: cannot be read as the recipe names it (split {self.split!r}, subset {self.subset!r}): "
                f"{' '.join(str(error).split()) or type(error).__name__}"
            ) from None
        finally:
            if progress:
                datasets.enable_progress_bars()

    def _saved(self, folder: Path) -> Dataset:
        import datasets

        saved = datasets.load_from_disk(str(folder))
        if isinstance(saved, datasets.Dataset):
            return saved
        if self.split not in saved:
            raise DataError(f"{folder}: no split {self.split!r}; there are {', '.join(map(repr, saved))}. Set this source's key `split`.")
        return saved[self.split]

    def _missing(self, error: Exception) -> str:
        from huggingface_hub import constants

        if not (constants.HF_HUB_OFFLINE or hub_answers()):
            error = ConnectionError(f"{constants.ENDPOINT} cannot be reached")
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        return (
            f"{self.path}: no such folder here, and the Hugging Face hub did not give it ({reason}). "
            "Run once with a network, and it is read from the cache from then on (a private or gated one needs `hf auth login`). Or fetch "
            f"it elsewhere, `hf download --repo-type dataset {self.path} --local-dir FOLDER`, and set this source's key `path` to FOLDER."
        )


def hub_answers() -> bool:
    """Whether the hub takes a connection. The library itself waits and tries again, for minutes where a firewall is silent."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE or getproxies().keys() & {"http", "https", "all"}:  # a proxy knows more than we do
        return not constants.HF_HUB_OFFLINE
    address = urlsplit(constants.ENDPOINT)
    try:
        socket.create_connection((address.hostname or "", address.port or (443 if address.scheme == "https" else 80)), _SECONDS).close()
    except OSError:
        return False
    return True


@contextmanager
def _offline() -> Iterator[None]:
    """What was read before comes from the cache, and nothing is asked for."""
    import datasets
    from huggingface_hub import constants

    before = datasets.config.HF_HUB_OFFLINE, constants.HF_HUB_OFFLINE
    datasets.config.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        datasets.config.HF_HUB_OFFLINE, constants.HF_HUB_OFFLINE = before
