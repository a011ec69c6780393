"""A plain MaxWalkSAT: the search for best worlds that Markov logic began with.

Reference: H. Kautz, B. Selman, Y. Jiang, *A general stochastic approach to solving problems with
hard and soft constraints*, 1997. A violated clause is drawn, and one of its variables is turned: a
random one, or the one after which the violated clauses weigh least.
"""

from __future__ import annotations

import random
import time

from benchmarks.worlds_instances import WeightedClauses

NOISE = 0.5
"""How often a random variable of the clause is turned."""

LOOK_EVERY = 100
"""Turns between two looks at the clock."""


class MaxWalkSat:
    """The search, with the weight of what is violated and the clauses that are."""

    def __init__(self, problem: WeightedClauses, seed: int = 0) -> None:
        self._random = random.Random(seed)
        self._least = float("inf")
        # Hard clauses weigh more than all soft ones together.
        self._hard = sum(weight for weight, _ in problem.soft) + 1
        self._clauses = [*problem.hard, *(literals for _, literals in problem.soft)]
        self._weights = [self._hard] * len(problem.hard) + [weight for weight, _ in problem.soft]
        self._true = [self._random.random() < 0.5 for _ in range(problem.variables + 1)]
        self._with: dict[int, list[int]] = {}
        for number, clause in enumerate(self._clauses):
            for literal in clause:
                self._with.setdefault(literal, []).append(number)
        self._satisfied = [sum(map(self._holds, clause)) for clause in self._clauses]
        self._violated = [k for k, count in enumerate(self._satisfied) if count == 0]
        self._place = {number: place for place, number in enumerate(self._violated)}
        self._weight = sum(self._weights[number] for number in self._violated)

    def _holds(self, literal: int) -> bool:
        return self._true[abs(literal)] == (literal > 0)

    def search(self, seconds: float) -> float:
        """The least weight of violated clauses; infinite if a hard one was violated all along."""
        end, turns = time.process_time() + seconds, 0
        while self._violated and (turns % LOOK_EVERY or time.process_time() < end):
            turns += 1
            clause = self._clauses[self._random.choice(self._violated)]
            if self._random.random() < NOISE:
                self._turn(abs(self._random.choice(clause)))
            else:
                self._turn(min(map(abs, clause), key=self._change))
            if self._weight < self._hard:
                self._least = min(self._least, self._weight)
        return self._least

    def _change(self, variable: int) -> int:
        """What turning a variable adds to the weight."""
        true = variable if self._true[variable] else -variable
        breaks = sum(self._weights[k] for k in self._with.get(true, ()) if self._satisfied[k] == 1)
        makes = sum(self._weights[k] for k in self._with.get(-true, ()) if self._satisfied[k] == 0)
        return breaks - makes

    def _turn(self, variable: int) -> None:
        true = variable if self._true[variable] else -variable
        self._true[variable] = not self._true[variable]
        for k in self._with.get(true, ()):
            self._satisfied[k] -= 1
            if self._satisfied[k] == 0:
                self._weight += self._weights[k]
                self._place[k] = len(self._violated)
                self._violated.append(k)
        for k in self._with.get(-true, ()):
            self._satisfied[k] += 1
            if self._satisfied[k] == 1:
                self._weight -= self._weights[k]
                place, last = self._place.pop(k), self._violated.pop()
                if last != k:
                    self._violated[place] = last
                    self._place[last] = place
