# SPDX-License-Identifier: Apache-2.0
"""`python3 -m tern.run_example`, which `tern example run` starts; docs/example-runner.md."""

import sys

from tern.example.runner import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
