"""Tensors in files: safetensors, and the checkpoints that PyTorch writes."""
