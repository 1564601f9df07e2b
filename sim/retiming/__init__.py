"""Many machines at one go: firings are found once, and timed for a vector of configs."""
