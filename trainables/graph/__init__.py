"""What the graph trainables share: sampling, message passing and inference."""
