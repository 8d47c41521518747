"""What a training run is measured with, inside its own process."""
