"""The lab: measures allocators side by side on workloads and on real programs."""
