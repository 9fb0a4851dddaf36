"""Opening storages: what is said when that fails, and what is never said."""

import socket
import sqlite3
import threading

import optuna
import pytest
from optuna.exceptions import StorageInternalError
from optuna.trial import TrialState

import calibrant
from calibrant.studies import open_storage
from calibrant.studies.storage import hidden


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:s3cret@host/db", "postgresql://me:***@host/db"),
        ("postgresql://me:s3:c@re/t@host/db", "postgresql://me:***@host/db"),
        ("mysql+pymysql://:s3cret@host:1/db?a=b", "mysql+pymysql://:***@host:1/db?a=b"),
        ("postgresql://me@host/db", "postgresql://me@host/db"),
        ("sqlite:///a:b@c.db", "sqlite:///a:b@c.db"),
        (
            "postgresql://host/db?user=me&password=s3cret",
            "postgresql://host/db?user=me&password=***",
        ),
    ],
)
def test_passwords_are_hidden(url, shown):
    assert hidden(url) == shown


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg2://me:s3cret@127.0.0.1:1/db",
        "postgresql+nosuchdriver://me:s3cret@127.0.0.1:1/db",
        "nosuch://me:s3cret@127.0.0.1:1/db",
        "mysql+mysqldb://me:s3cret@127.0.0.1:1/db",
        "postgresql://me:s3cret@127.0.0.1:port/db",
        "grpc://me:s3cret@host",
    ],
)
def test_no_error_shows_a_password(url):
    with pytest.raises(ValueError) as error:
        open_storage(url)
    told = f"{error.value} {error.value.__cause__}"
    assert "s3cret" not in told
    assert "***" in told


def test_a_missing_driver_is_named():
    with pytest.raises(ValueError, match="needs the package that holds `MySQLdb`"):
        open_storage("mysql+mysqldb://me@127.0.0.1/db")


def test_a_database_that_cannot_be_written(tmp_path, monkeypatch):
    path = tmp_path / "study.db"
    calibrant.minimize(lambda p: p["x"], {"x": (0.0, 1.0)}, 2, storage=f"sqlite:///{path}")
    monkeypatch.setattr("os.access", lambda needed, how: needed != path)  # root may write anything
    with pytest.raises(ValueError, match=r"study\.db cannot be written to"):
        open_storage(f"sqlite:///{path}")


def test_a_database_that_is_locked(tmp_path, monkeypatch):
    monkeypatch.setattr("calibrant.studies.storage._SQLITE_WAIT", 0.01)
    monkeypatch.setattr("calibrant.studies.storage._STARTS", 1)
    path = tmp_path / "study.db"
    with sqlite3.connect(path) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(ValueError, match="cannot be opened: database is locked"):
            open_storage(f"sqlite:///{path}")
    holder.close()


def test_who_reads_does_not_wait_for_who_writes(tmp_path, monkeypatch):
    """Only the commit itself keeps readers away; heartbeats wait for no reader's turn, either."""
    monkeypatch.setattr("calibrant.studies.storage._SQLITE_WAIT", 0.01)
    url = f"sqlite:///{tmp_path}/study.db"
    study = optuna.create_study(storage=open_storage(url, patience=0.0))
    study.enqueue_trial({"x": 1})
    holder = sqlite3.connect(tmp_path / "study.db")
    holder.execute("BEGIN IMMEDIATE")
    assert len(study.get_trials()) == 1
    with pytest.raises(StorageInternalError):
        study.enqueue_trial({"x": 2})
    holder.rollback()
    holder.close()
    study.enqueue_trial({"x": 2})
    assert len(study.get_trials()) == 2


def test_a_queued_trial_is_taken_once(tmp_path):
    """Python's driver of SQLite would let all that look at the same moment take it."""
    storage = open_storage(f"sqlite:///{tmp_path}/study.db")
    study = optuna.create_study(storage=storage)
    took = []
    for x in range(12):
        study.enqueue_trial({"x": x})
        (queued,) = study.get_trials(states=(TrialState.WAITING,))
        barrier = threading.Barrier(4)

        def take(trial_id=queued._trial_id, barrier=barrier):
            other = open_storage(f"sqlite:///{tmp_path}/study.db")
            barrier.wait()
            took.append(other.set_trial_state_values(trial_id, TrialState.RUNNING))
            other.remove_session()

        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum(took) == 12


def test_what_is_no_database(tmp_path):
    (tmp_path / "study.db").write_text("some text, " * 100)
    with pytest.raises(ValueError, match="cannot be opened: file is not a database"):
        open_storage(f"sqlite:///{tmp_path}/study.db")


@pytest.mark.parametrize("half", [b'{"op_code":4,"wor', b"x" * 9000, b""])
def test_half_a_line_at_the_end_of_a_journal_is_cut_off(tmp_path, half):
    """A full disk, or a machine that stops, leaves one; the next line is not written behind it."""
    url = f"journal:///{tmp_path}/study.log"
    first = calibrant.minimize(lambda p: p["x"], {"x": (0.0, 1.0)}, 3, storage=url)
    with open(tmp_path / "study.log", "ab") as file:
        file.write(half)
    first.add_trial(first.trials[0])  # by who had the journal open
    again = calibrant.minimize(lambda p: p["x"], {"x": (0.0, 1.0)}, 6, storage=url)
    assert [t.params for t in again.trials[:3]] == [t.params for t in first.trials[:3]]
    assert len(again.trials) == 6
    assert (tmp_path / "study.log").read_bytes().endswith(b"}\n")


def test_journals(tmp_path):
    for _ in range(2):
        study = calibrant.minimize(
            lambda p: p["x"], {"x": (0.0, 1.0)}, 7, storage=f"journal:///{tmp_path}/study.log"
        )
        assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 7
    for url in (f"journal:///{tmp_path}", f"journal:///{tmp_path}/no/study.log"):
        with pytest.raises(ValueError, match="must name a file"):
            open_storage(url)


def test_a_proxy_that_is_not_there(monkeypatch):
    pytest.importorskip("grpc")
    monkeypatch.setattr("calibrant.studies.storage._CONNECT_WAIT", 0.1)
    with pytest.raises(ValueError, match="no proxy answers there within"):
        open_storage("grpc://127.0.0.1:1")


def test_a_proxy(tmp_path):
    pytest.importorskip("grpc")
    from optuna.storages._grpc.server import make_server

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = make_server(optuna.storages.InMemoryStorage(), "127.0.0.1", port)
    server.start()
    try:
        url = f"grpc://127.0.0.1:{port}"
        study = calibrant.minimize(lambda p: p["x"], {"x": (0.0, 1.0)}, 7, storage=url)
        assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 7
    finally:
        server.stop(None)
