# SPDX-License-Identifier: Apache-2.0
"""`python3 -m tern.run_example`, which `tern example run` starts; docs/example-runner.md."""

import sys

if __name__ == "__main__":
    try:
        from tern.example.runner import main

        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:  # before it has begun
        sys.exit(130)
