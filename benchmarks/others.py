"""Other programs in an environment of their own, made on first use from requirements-speed.txt."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import liftgbp
from liftgbp import reference

HERE = Path(__file__).parent
ENVIRONMENT = HERE / ".venv-speed"
REQUIREMENTS = HERE / "requirements-speed.txt"
WORKER = HERE / "others_worker.py"
PYTHON = ENVIRONMENT / "bin" / "python"
INSTALLING = 1200
"""Seconds that an installation may take."""

PATIENCE = 3
"""A worker is stopped after so many times its limit: it has to start, and may have to wait."""


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
    """The ground model as the worker reads it; atoms in no factor are left out."""
    ground = reference.ground(model, {"person": people})
    factors = [
        {
            "scope": [_name(atom) for atom in factor.scope],
            "log_table": factor.log_table.ravel().tolist(),
        }
        for factor in ground.factors
    ]
    asked = _name(reference.GroundAtom(query, (0, 1)))
    task = {"factors": factors, "query": asked, "iterations": iterations, "damping": 0.5}
    return json.dumps(task)


def _name(atom: reference.GroundAtom) -> str:
    return f"{atom.predicate}({','.join(map(str, atom.objects))})"


def seconds(command: list[str], limit: float, task: str = "") -> float | None:
    """The seconds that a worker reports; nothing if it fails or exceeds the limit."""
    try:
        run = subprocess.run(
            command,
            input=task,
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE * limit,
            cwd=HERE.parent,
        )
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return None
    found = float(json.loads(run.stdout)["seconds"])
    return found if found <= limit else None


def worker(program: str) -> list[str]:
    """The command that runs a program on a task."""
    return [str(PYTHON), str(WORKER), program]
