"""The simulators of SAM graphs."""
