# SPDX-License-Identifier: Apache-2.0
"""The version of this package, which is that of the libtern that it is written for."""

VERSION = "0.1.0"
