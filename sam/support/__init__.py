"""What all packages need and no other knows: errors, files, the C compiler, YAML sections."""
