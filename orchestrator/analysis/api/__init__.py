"""The functions of ``an``: from a run or a frame to a frame."""
