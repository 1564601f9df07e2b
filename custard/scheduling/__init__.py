"""Schedules: from commands to the statements that a target lowers."""
