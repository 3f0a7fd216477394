"""What compiles: the kinds of kernel, the library that they share, where compiled code is kept from run to run."""
