"""python -m hakmem_lab"""

from .cli import main

main(prog_name="hakmem")
