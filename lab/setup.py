"""Compiles the library and the lab's programs into the package, where it is installed for good.

An editable install has none of it: the command then uses the tree's own build folder.
"""

import shutil
import subprocess
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

TREE = Path(__file__).resolve().parent.parent


class Build(build_py):
    """The package, and beside it what CMake makes of the tree."""

    def run(self):
        super().run()
        if self.editable_mode:
            return
        work = TREE / "build" / "package"
        configure = ["cmake", "-S", TREE, "-B", work, "-DCMAKE_BUILD_TYPE=Release"]
        subprocess.run([*configure, "-DHAKMEM_TESTS=ON", "--log-level=ERROR"], check=True)
        subprocess.run(["cmake", "--build", work, "--target", "command", "-j2"], check=True)
        built = Path(self.build_lib) / "hakmem_lab" / "built"
        shutil.rmtree(built, ignore_errors=True)
        programs = shutil.ignore_patterns(
            "CMakeFiles", "*.cmake", "Makefile", "nothing", "launcher", "tracer"
        )
        for folder in ("bench", "lab"):
            shutil.copytree(work / folder, built / folder, ignore=programs)
        shutil.copy2((work / "libhakmem.so").resolve(), built / "libhakmem.so")
        shutil.copy2(TREE / "src" / "config" / "options.def", built)


class Platform(Distribution):
    """The package has machine code, so it is not for every platform."""

    def has_ext_modules(self):
        return True


setup(cmdclass={"build_py": Build}, distclass=Platform)
