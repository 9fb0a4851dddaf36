"""Hydra's door to calibrant: ``hydra/sweeper=calibrant``.

Hydra imports all of ``hydra_plugins`` whenever a program of its kind starts, so this file only
says what can be set; the search itself, in :mod:`calibrant.bridges.hydra`, is loaded when a sweep
begins.
"""

from dataclasses import dataclass, field
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


@dataclass
class CalibratedSweeperConfig:
    """What a configuration may set under ``hydra.sweeper``; docs/doors/hydra.md explains it."""

    _target_: str = "hydra_plugins.calibrant_sweeper.CalibratedSweeper"
    _convert_: str = "all"  # else Hydra takes callbacks that are dataclasses for configurations
    params: dict[str, Any] = field(default_factory=dict)
    direction: Any = "minimize"
    n_trials: int = 20
    n_jobs: int = 1
    seed: int | None = None
    storage: str | None = None
    study_name: str = "${hydra.job.name}"
    limits: dict[str, float] = field(default_factory=dict)
    sampler: Any = None
    callbacks: list[Any] = field(default_factory=list)


ConfigStore.instance().store(
    group="hydra/sweeper", name="calibrant", node=CalibratedSweeperConfig, provider="calibrant"
)


class CalibratedSweeper(Sweeper):
    """Chooses the settings of a multirun by calibrated Bayesian optimisation."""

    def __init__(self, params: dict[str, Any], **settings: Any) -> None:
        self._params, self._settings = params, settings

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        """Take over what Hydra knows, and prepare its launcher."""
        self.hydra_context, self.config = hydra_context, config
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> Any:
        """Run the sweep, and return its Optuna study."""
        from calibrant.bridges.hydra import Sweep, parse, write_results

        assert self.hydra_context is not None
        assert self.config is not None
        assert self.launcher is not None
        lines = [f"{name}={value}" for name, value in self._params.items()]
        space = parse([*lines, *arguments], self.hydra_context.config_loader)
        search = Sweep(**self._settings)
        study = search.run(space, self.launcher.launch, check=self.validate_batch_is_legal)
        write_results(study, self.config.hydra.sweep.dir)
        return study
