"""One run of another program on a ground model, in that program's own environment.

Reads a ground model as JSON from standard input: factors with a scope and a log table, the atom to
ask for, and the settings of loopy belief propagation. Prints the probability and the seconds.
"""

from __future__ import annotations

import itertools
import json
import math
import resource
import sys
import time
import warnings

MOST_MEMORY = 4 * 2**30


def pgmpy(task: dict) -> tuple[float, float]:
    from pgmpy.factors.discrete import DiscreteFactor
    from pgmpy.inference import VariableElimination
    from pgmpy.models import DiscreteMarkovNetwork

    started = time.process_time()
    network = DiscreteMarkovNetwork()
    for factor in task["factors"]:
        scope = factor["scope"]
        network.add_nodes_from(scope)
        network.add_edges_from(itertools.combinations(scope, 2))
        values = [math.exp(value) for value in factor["log_table"]]
        network.add_factors(DiscreteFactor(scope, [2] * len(scope), values))
    answer = VariableElimination(network).query([task["query"]], show_progress=False)
    return float(answer.values[1] / answer.values.sum()), time.process_time() - started


def pgmax(task: dict) -> tuple[float, float]:
    import numpy as np
    from pgmax import fgraph, fgroup, infer, vgroup

    def run() -> float:
        names = sorted({name for factor in task["factors"] for name in factor["scope"]})
        place = {name: k for k, name in enumerate(names)}
        atoms = vgroup.NDVarArray(num_states=2, shape=(len(names),))
        graph = fgraph.FactorGraph(variable_groups=atoms)
        sizes = sorted({len(factor["scope"]) for factor in task["factors"]})
        for size in sizes:
            own = [factor for factor in task["factors"] if len(factor["scope"]) == size]
            group = fgroup.EnumFactorGroup(
                variables_for_factors=[[atoms[place[name]] for name in f["scope"]] for f in own],
                factor_configs=np.array(list(itertools.product((0, 1), repeat=size))),
                log_potentials=np.array([factor["log_table"] for factor in own]),
            )
            graph.add_factors(group)
        # Temperature 1 is sum-product.
        bp = infer.build_inferer(graph.bp_state, backend="bp")
        settings = {"num_iters": task["iterations"], "damping": task["damping"], "temperature": 1.0}
        end = bp.run(bp.init(), **settings)
        marginals = infer.get_marginals(bp.get_beliefs(end))[atoms]
        return float(marginals[place[task["query"]]][1])

    # The second run is free of compilation.
    run()
    started = time.process_time()
    return run(), time.process_time() - started


def main() -> None:
    warnings.filterwarnings("ignore")
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    program = {"pgmpy": pgmpy, "pgmax": pgmax}[sys.argv[1]]
    probability, seconds = program(json.load(sys.stdin))
    print(json.dumps({"probability": probability, "seconds": seconds}))


if __name__ == "__main__":
    main()
