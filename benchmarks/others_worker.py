"""One run of another program, in that program's own environment.

Reads a ground model as JSON from standard input: factors with a scope and a log table, the atom to
ask for, and the settings of loopy belief propagation; wfomc takes the model itself, rc2 weighted
clauses. Prints the probability, log Z or the weight of violated clauses, and the seconds, without
those for imports.
"""

from __future__ import annotations

import itertools
import json
import math
import resource
import sys
import tempfile
import time
import warnings

MOST_MEMORY = 4 * 2**30
MOST_SECONDS = 120
"""Of processor time, with imports: nothing here is allowed more than half of it for itself."""


def pgmpy(task: dict) -> tuple[float, float]:
    from pgmpy.inference import VariableElimination

    return _by_pgmpy(task, VariableElimination)


def pgmpy_tree(task: dict) -> tuple[float, float]:
    """What pgmpy calls belief propagation: messages on a junction tree, which are exact."""
    from pgmpy.inference import BeliefPropagation

    return _by_pgmpy(task, BeliefPropagation)


def _by_pgmpy(task: dict, method: type) -> tuple[float, float]:
    from pgmpy.factors.discrete import DiscreteFactor
    from pgmpy.models import DiscreteMarkovNetwork

    started = time.process_time()
    network = DiscreteMarkovNetwork()
    for factor in task["factors"]:
        scope = factor["scope"]
        network.add_nodes_from(scope)
        network.add_edges_from(itertools.combinations(scope, 2))
        values = [math.exp(value) for value in factor["log_table"]]
        network.add_factors(DiscreteFactor(scope, [2] * len(scope), values))
    answer = method(network).query([task["query"]], show_progress=False)
    return float(answer.values[1] / answer.values.sum()), time.process_time() - started


def pyagrum(task: dict) -> tuple[float, float]:
    """Messages on a junction tree, as Shafer and Shenoy pass them."""
    import numpy as np
    import pyagrum

    started = time.process_time()
    network = pyagrum.MarkovRandomField()
    names = sorted({name for factor in task["factors"] for name in factor["scope"]})
    for name in names:
        network.add(pyagrum.LabelizedVariable(name, name, 2))
    for factor in task["factors"]:
        scope = factor["scope"]
        tensor = network.addFactor(set(scope))
        # The tensor has an order of its own, and the last of its names comes first in arrays.
        axes = [scope.index(name) for name in reversed(tensor.names)]
        table = np.exp(np.reshape(factor["log_table"], [2] * len(scope)))
        tensor[:] = np.ascontiguousarray(table.transpose(axes))
    inference = pyagrum.ShaferShenoyMRFInference(network)
    inference.setTargets({task["query"]})
    inference.makeInference()
    posterior = inference.posterior(task["query"]).toarray()
    return float(posterior[1]), time.process_time() - started


def wfomc(task: dict) -> tuple[float, float]:
    """log Z by a weighted model count, exact in rational numbers."""
    from loguru import logger
    from wfomc.algo import Algo
    from wfomc.parser import parse_input
    from wfomc.solver import wfomc as count
    from wfomc.utils import round_rational

    logger.remove()
    with tempfile.NamedTemporaryFile("w", suffix=".mln") as file:
        file.write(task["model"])
        file.flush()
        started = time.process_time()
        found = count(parse_input(file.name), algo=Algo.FASTv2)
    return float(round_rational(found).ln()), time.process_time() - started


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


def rc2(task: dict) -> tuple[float, float]:
    """The least weight of violated clauses (A. Ignatiev, A. Morgado, J. Marques-Silva, 2019)."""
    from pysat.examples.rc2 import RC2Stratified
    from pysat.formula import WCNF

    formula = WCNF()
    formula.extend(task["hard"])
    formula.extend([own for _, own in task["soft"]], weights=[own for own, _ in task["soft"]])
    started = time.process_time()
    with RC2Stratified(formula) as solver:
        solver.compute()
        return float(solver.cost), time.process_time() - started


def main() -> None:
    warnings.filterwarnings("ignore")
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    programs = (pgmpy, pgmpy_tree, pyagrum, pgmax, wfomc, rc2)
    program = {own.__name__: own for own in programs}[sys.argv[1]]
    value, seconds = program(json.load(sys.stdin))
    print(json.dumps({"value": value, "seconds": seconds}))


if __name__ == "__main__":
    main()
