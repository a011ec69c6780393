"""Other programs in an environment of their own, made on first use from requirements-speed.txt."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

import liftgbp
from liftgbp.oracle import reference
from liftgbp.support.arrays import Floats

HERE = Path(__file__).parent
ENVIRONMENT = HERE / ".venv-speed"
REQUIREMENTS = HERE / "requirements-speed.txt"
WORKER = HERE / "others_worker.py"
PYTHON = ENVIRONMENT / "bin" / "python"
INSTALLING = 1200
"""Seconds that an installation may take."""

PATIENCE = 10
"""A worker is stopped after so many times its limit on the clock: it has to start, and others may
use the processor. Its processor time is limited, too."""


def missing(program: str) -> str:
    """Why a program cannot be run; empty if it can."""
    problem = "" if (ENVIRONMENT / ".ready").exists() else _install()
    if problem:
        return problem
    found = subprocess.run(
        [PYTHON, "-W", "ignore", "-c", f"import {program}"],
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if found.returncode == 0 else f"{program} cannot be imported: {_last(found.stderr)}"


def _install() -> str:
    try:
        subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True, capture_output=True)
        subprocess.run(
            [PYTHON, "-m", "pip", "install", "--quiet", "-r", REQUIREMENTS],
            check=True,
            capture_output=True,
            text=True,
            timeout=INSTALLING,
        )
    except subprocess.TimeoutExpired:
        return f"the installation took longer than {INSTALLING} s"
    except (OSError, subprocess.CalledProcessError) as error:
        return f"it cannot be installed: {_last(getattr(error, 'stderr', None) or str(error))}"
    (ENVIRONMENT / ".ready").touch()
    return ""


def _last(text: str | bytes) -> str:
    lines = (text if isinstance(text, str) else text.decode()).strip().splitlines()
    return lines[-1] if lines else "no message"


def ground_json(model: liftgbp.Model, people: int, query: str, iterations: int) -> str:
    """The ground model as the worker reads it; atoms in no factor are left out.

    Tables are scaled to a mean of one: products of hundreds would leave the range of floats.
    """
    ground = reference.ground(model, {"person": people})
    factors = [
        {
            "scope": [_name(atom) for atom in factor.scope],
            "log_table": (factor.log_table - _log_mean(factor.log_table)).ravel().tolist(),
        }
        for factor in ground.factors
    ]
    asked = _name(reference.GroundAtom(query, (0, 1)))
    task = {"factors": factors, "query": asked, "iterations": iterations, "damping": 0.5}
    return json.dumps(task)


def _log_mean(log_table: Floats) -> float:
    return float(np.logaddexp.reduce(log_table, axis=None) - math.log(log_table.size))


def _name(atom: reference.GroundAtom) -> str:
    return f"{atom.predicate}({','.join(map(str, atom.objects))})"


class Reply(NamedTuple):
    """What a program found, and its processor time."""

    value: float
    seconds: float


def seconds(command: list[str], limit: float, task: str = "") -> float | None:
    """The seconds that a worker reports; nothing if it fails or exceeds the limit."""
    found = reply(command, limit, task)
    return found.seconds if isinstance(found, Reply) else None


def reply(command: list[str], limit: float, task: str = "") -> Reply | str:
    """What a worker reports, or why there is nothing."""
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    try:
        run = subprocess.run(
            command,
            input=task,
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE * limit,
            cwd=HERE.parent,
            env=os.environ | one_thread,
        )
    except subprocess.TimeoutExpired:
        return f"above {limit:g} s"
    except subprocess.CalledProcessError as error:
        ended = -error.returncode in (signal.SIGXCPU, signal.SIGKILL)
        return f"above {limit:g} s" if ended else f"it failed: {_last(error.stderr)}"
    found = json.loads(run.stdout.splitlines()[-1])
    if found["seconds"] > limit:
        return f"above {limit:g} s"
    return Reply(float(found.get("value", "nan")), float(found["seconds"]))


def worker(program: str) -> list[str]:
    """The command that runs a program on a task."""
    return [str(PYTHON), str(WORKER), program]
