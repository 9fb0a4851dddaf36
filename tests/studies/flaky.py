"""A storage that is away when told so, and the same made steady."""

from optuna.storages import InMemoryStorage
from sqlalchemy.exc import OperationalError

from calibrant.studies.steady import SteadyStorage


def away():
    """What a client of PostgreSQL says during a restart."""
    return OperationalError("SELECT 1", {}, ConnectionError("server closed the connection"))


class Flaky(InMemoryStorage):
    """A storage that is away when told so, before or after it has done what was asked."""

    def __init__(self):
        super().__init__()
        self.before, self.after = {}, {}  # how often yet, by the name of the operation

    def _maybe(self, when, name):
        if when.get(name, 0) > 0:
            when[name] -= 1
            raise away()


def _flaky(name):
    def method(self, *args, **kwargs):
        self._maybe(self.before, name)
        result = getattr(InMemoryStorage, name)(self, *args, **kwargs)
        self._maybe(self.after, name)
        return result

    return method


OPERATIONS = [
    "create_new_trial", "set_trial_param", "set_trial_state_values", "get_all_trials", "get_trial",
    "set_trial_system_attr", "set_trial_user_attr",
]  # fmt: skip
for operation in OPERATIONS:
    setattr(Flaky, operation, _flaky(operation))


def steady(inside=None, heartbeat=60, grace=180, patience=30.0):
    return SteadyStorage(inside or Flaky(), heartbeat, grace, patience)


def objective(trial):
    return (trial.suggest_float("x", 0, 1) - 0.3) ** 2
