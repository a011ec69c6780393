"""`make bench` or `python -m benchmarks`: all measurements, one after the other."""

from benchmarks import engine, startup

for part in (engine, startup):
    part.main()
