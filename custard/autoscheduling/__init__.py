"""Schedules, formats and parallel loops that are chosen by what they would cost on real inputs."""
