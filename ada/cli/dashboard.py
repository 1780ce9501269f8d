"""`ada dashboard`: a saved view of a project on wandb, with a panel for every metric."""

from __future__ import annotations

from importlib.util import find_spec

from ada.cli.failures import told


def dashboard(*, project: str, entity: str | None, name: str) -> int:
    return told(lambda: _dashboard(project, entity, name))


def _dashboard(project: str, entity: str | None, name: str) -> int:
    if find_spec("wandb_workspaces") is None:
        raise ValueError("a dashboard needs the package wandb-workspaces, and it is not installed here: pip install wandb-workspaces")
    import wandb

    from ada.observability.dashboard import workspace
    from ada.observability.tracking import check_reachable

    wandb.setup(wandb.Settings(silent=True))
    if not wandb.login(prompt=False, verify=False):
        raise ValueError("no API key of wandb is known here: set WANDB_API_KEY, or run `wandb login`, and try again")
    url = wandb.setup().settings.base_url
    try:
        check_reachable(url)
        owner = entity or wandb.Api().default_entity
        if not owner:
            raise ValueError("the account has no default entity; name a user or a team with --entity")
        view = workspace(owner, project, name).save()
    except Exception as error:  # of many kinds, some of them wandb's own
        raise ValueError(f"{url}: a view of {project} could not be made ({error}). Project and entity must exist there") from error
    print(view.url)
    return 0
