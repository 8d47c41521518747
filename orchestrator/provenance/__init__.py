"""Provenance: origin of a figure, in code, versions and hardware.

version: of this program
environment: versions, hardware and commit; tags of a row that describe its node
source: hash of the code that trains; text of a function, to compare it with another version
"""
