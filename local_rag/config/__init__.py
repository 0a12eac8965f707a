"""Read settings with their origins, models.yaml, and calibrated thresholds."""
