#!/usr/bin/env bash
# Runs the tests marked gpu and the GPU studies on a machine with one GPU; writes a Markdown table.
#
#   bash benchmarks/gpu/run.sh                        what is installed is enough
#   bash benchmarks/gpu/run.sh --wheels DIR           with the wheels in DIR on the path too (dgl, pytest)
#   bash benchmarks/gpu/run.sh --only rgat --no-tests
#
# Needs Python 3.11 or newer, torch, numpy, pandas, msgspec and dgl with what that needs (scipy, networkx, psutil,
# requests, tqdm); for lenet's rows of single samples torchvision; for the tests pytest and scikit-learn.
# What these are missing for is left out, said, and 2 is the exit code. No Ray, no MLflow, no network.
# PYTHON names the interpreter (default: python3). Exit codes: 0 all went well; 1 a test failed, or a
# setting that is for one GPU was not completed; 2 something is missing, a GPU say.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1 DGLBACKEND=pytorch
exec "${PYTHON:-python3}" -m benchmarks.gpu "$@"
