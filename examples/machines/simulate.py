"""What the recipes of this folder tune, in place of your program: it prints what to minimise."""

import sys
import time

time.sleep(1)  # hours, in your case
x, y = map(float, sys.argv[1:])
print((x - 0.3) ** 2 + (y - 0.6) ** 2)
