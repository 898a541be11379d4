"""Functions that are compiled to machine code for the CPU and for CUDA."""
