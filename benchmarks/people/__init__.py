"""Models of the kinds that people write, each with a truth found without the engine."""
