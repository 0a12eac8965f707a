"""Check this machine: doctor, models, trials, the network recorder and the demo."""
