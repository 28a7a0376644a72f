"""`python -m kitbag` runs the program that was installed with this package."""

import os
import sys
import sysconfig


def find_program():
    schemes = [None, sysconfig.get_preferred_scheme("user")] if sys.version_info >= (3, 10) else [None]
    folders = [sysconfig.get_path("scripts", scheme) if scheme else sysconfig.get_path("scripts") for scheme in schemes]
    # `pip install --target` puts `bin` next to the package.
    folders.append(os.path.join(os.path.dirname(os.path.dirname(__file__)), "bin"))
    for folder in folders:
        program = os.path.join(folder, "kitbag")
        if os.path.isfile(program):
            return program
    sys.exit("kitbag: the program is missing in " + ", ".join(folders) + "; install the package again")


if __name__ == "__main__":
    program = find_program()
    os.execv(program, [program, *sys.argv[1:]])
