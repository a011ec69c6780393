"""`make bench` or `python -m benchmarks`: all measurements, one after the other."""

from benchmarks import engine, solvers, speed, startup

for part in (engine, solvers, startup, speed):
    part.main()
