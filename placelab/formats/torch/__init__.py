"""Read PyTorch modules, exported programs and profiler traces; write device maps."""
