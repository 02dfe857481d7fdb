"""Run the demo as a person does: a process of its own, spoken to over HTTP."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 90
STOP_SECONDS = 20


@dataclass(frozen=True, kw_only=True)
class Demo:
    """A running console: where it answers, who may sign in, and its process."""

    url: str
    users: Mapping[str, Mapping[str, str]]
    tokens: Mapping[str, str]
    data: Path
    process: subprocess.Popen[str]

    def stop(self) -> None:
        """End the process as a supervisor would; it must leave in time and without complaint."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            code = self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(
                f"The console did not stop within {STOP_SECONDS} s.\n{log(self.data)}"
            ) from None
        assert code == 0, f"The console ended with {code}.\n{log(self.data)}"


def log(data: Path) -> str:
    """Read what the process has written to standard error so far."""
    return log_path(data).read_text(errors="replace")[-8000:]


def log_path(data: Path) -> Path:
    """Name the file beside the data folder that takes standard error."""
    return data.with_name(f"{data.name}.log")


@contextmanager
def running(
    data: Path, *, arguments: tuple[str, ...] = (), environ: Mapping[str, str] = {}
) -> Iterator[Demo]:
    """Start `manage.py demo` on a free port, wait for its READY line, and end it by its process id."""
    demo = start(data, arguments=arguments, environ=environ)
    try:
        yield demo
    except BaseException:
        demo.process.kill()
        demo.process.wait()
        raise
    demo.stop()


def start(data: Path, *, arguments: tuple[str, ...], environ: Mapping[str, str]) -> Demo:
    """Start the process and read its promise; the caller ends it."""
    command = ["manage.py", "demo", "--json", "--no-browser", "--port", "0", "--data", str(data), *arguments]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LIFECYCLE_")}
    with log_path(data).open("w") as stderr:
        process = subprocess.Popen(
            [sys.executable, *command],
            cwd=ROOT,
            env={**inherited, "PYTHONUNBUFFERED": "1", **environ},
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
    promise, url = read_promise(process, data)
    # A pipe that nobody reads fills up, and then whoever writes to it waits.
    assert process.stdout is not None
    threading.Thread(target=process.stdout.read, daemon=True).start()
    return Demo(url=url, users=promise["users"], tokens=promise["tokens"], data=data, process=process)


def read_promise(process: subprocess.Popen[str], data: Path) -> tuple[dict[str, Any], str]:
    """Read the JSON line and the READY line; a process that says neither in time is killed and reported."""
    assert process.stdout is not None
    deadline = threading.Timer(START_SECONDS, process.kill)
    deadline.start()
    promise: dict[str, Any] = {}
    try:
        for line in process.stdout:
            if line.startswith("{"):
                promise = json.loads(line)
            if line.startswith("READY "):
                return promise, line.split()[1].rstrip("/")
    finally:
        deadline.cancel()
    raise AssertionError(f"The console ended with {process.wait()} before it was ready.\n{log(data)}")
