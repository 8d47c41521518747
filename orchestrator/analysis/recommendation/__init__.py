"""The config to use and how much faster it is: figures alone, which the driver needs too."""
