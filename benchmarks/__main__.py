"""`make bench` or `python -m benchmarks`: the measurements of the engine itself.

Those beside other programs (`benchmarks.speed`), of levels of effort (`benchmarks.levels`), of
growing cost (`benchmarks.growth`), of accuracy (`benchmarks.accuracy`, `benchmarks.sampled`), of
proven bounds (`benchmarks.proven`) and of trust (`benchmarks.trust`, `benchmarks.people`) take
minutes, and are run by name.
`benchmarks.peers` puts more programs beside one model, and `benchmarks.jobs` measures what several
processes gain. `benchmarks.scale` measures large networks stage by stage, `benchmarks.real` data
sets that a user has. `benchmarks.worlds` looks for best worlds beside other programs.
`benchmarks.answers` writes a table of answers and compares two of them.
"""

from benchmarks import engine, evidence, solvers, startup

for part in (engine, solvers, startup, evidence):
    part.main()
