#!/bin/bash
# sbatch --export=ALL slurm.sh, with the database's address in CALIBRANT_STORAGE. `calibrant tune`
# has begun the study before, or begins it meanwhile: a worker waits a minute for it.
#SBATCH --array=1-16
#SBATCH --cpus-per-task=1
srun calibrant worker -
