"""Real programs that the lab measures and the tests run: their inputs and command lines."""
