"""The hardware configs that are shipped, one YAML file per machine."""
