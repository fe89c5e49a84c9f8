"""ABS: models in the Abstract Behavioral Specification language, translated to Python actors."""
