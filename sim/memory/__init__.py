"""The memory hierarchy: levels, ports, traffic."""
