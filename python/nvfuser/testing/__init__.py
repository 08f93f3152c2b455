"""What tests of fusions import from nvFuser."""
