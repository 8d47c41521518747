"""Damages of data folders, and whether each is refused with the file's name.

__main__: the campaign
data_sets: small sets in each layout that trainables read
set_damages: damages of whole sets of graphs
image_damages: damages of whole sets of images
set_changes: the makers of these
"""
