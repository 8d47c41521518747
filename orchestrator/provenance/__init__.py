"""Provenance: origin of a figure, in code, versions and hardware.

environment: versions, hardware and commit
node_tags: tags of a row that describe its node
source_hash: hash of the code that trains
source_text: text of a function, to compare it with another version
"""
