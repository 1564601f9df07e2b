"""The command line, reports and sweeps: the one part of custard that knows sim."""
