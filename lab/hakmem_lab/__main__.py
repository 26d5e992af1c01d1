"""python -m hakmem_lab"""

from .commands import main

main(prog_name="python -m hakmem_lab")
