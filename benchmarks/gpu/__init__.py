"""Tests and studies that need a GPU, run by ``run.sh``.

__main__: the command line
tests: the tests marked ``gpu``, through pytest
studies: settings that are compared with each other, and their data
measure: one setting, in a separate process
generated: images in MNIST's layout
needs: packages that must be there
stand_in: an empty ``dgl.graphbolt``
page: the page of results
"""
