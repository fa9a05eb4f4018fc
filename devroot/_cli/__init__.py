"""What ``python -m devroot`` does: arguments in, an explanation out."""
