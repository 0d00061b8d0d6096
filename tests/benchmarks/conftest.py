"""The benchmarks are programs, not tests: pytest leaves them alone."""

collect_ignore_glob = ["*.py"]
