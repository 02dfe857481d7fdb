"""One process alone serves a data folder, for as long as it lives."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lifecycle_core.contract import errors
from lifecycle_core.journal import sole_server

HOLDING = """
import sys
from pathlib import Path
from lifecycle_core.journal import sole_server
with sole_server.hold(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_second_server_is_refused_with_the_process_that_runs(tmp_path: Path) -> None:
    with (
        sole_server.hold(tmp_path),
        pytest.raises(errors.ConfigurationInvalid) as refusal,
        sole_server.hold(tmp_path),
    ):
        pass
    assert str(os.getpid()) in refusal.value.sentence


def test_the_folder_is_free_when_the_server_has_stopped(tmp_path: Path) -> None:
    for _ in range(2):
        with sole_server.hold(tmp_path / "new"):
            pass


def test_a_killed_server_leaves_the_folder_free(tmp_path: Path) -> None:
    server = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    assert server.stdout.readline() == "held\n"
    with pytest.raises(errors.ConfigurationInvalid, match=str(server.pid)), sole_server.hold(tmp_path):
        pass
    server.kill()
    server.communicate()
    with sole_server.hold(tmp_path):
        pass
