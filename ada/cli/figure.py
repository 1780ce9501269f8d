"""An empty figure for --plot."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from ada.recipe.errors import RecipeError


def figure_for(path: Path) -> Figure:
    """Room for two panels. Raises RecipeError where a file with the ending of `path` can't be drawn."""
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    known = sorted(figure.canvas.get_supported_filetypes())
    if path.suffix.lstrip(".").lower() not in known:
        raise RecipeError(f"command line: --plot is {str(path)!r}; its ending must be one of {', '.join(known)}")
    return figure


def look(label: str, own: str | None) -> dict[str, object]:
    """Of a line: that of the recipe at hand is thick and black."""
    return {"color": "black", "linewidth": 2.5} if label == own else {"linewidth": 1.2}
