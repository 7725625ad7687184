"""What a run leaves in its folder: config, environment, metrics, completions, checkpoints, summary."""
