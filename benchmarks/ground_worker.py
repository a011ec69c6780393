"""One run of ground GBP by the reference.

`python -m benchmarks.ground_worker MODEL PEOPLE ITERATIONS` is a process of its own, since it is
stopped where it takes too long. It prints the seconds.
"""

from __future__ import annotations

import json
import sys
import time

import liftgbp
from benchmarks.timing import MODELS
from liftgbp.oracle import reference


def main() -> None:
    name, people, iterations = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    model = liftgbp.load(MODELS / f"{name}.mln")
    started = time.process_time()
    graph = reference.ground_regions(reference.ground(model, {"person": people}))
    for _ in reference.iterates(graph, iterations=iterations):
        pass
    print(json.dumps({"seconds": time.process_time() - started}))


if __name__ == "__main__":
    main()
