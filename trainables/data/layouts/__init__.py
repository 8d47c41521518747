"""Layouts of sets' folders: their files found, checked, and read into arrays.

known: what layout a folder is in, and which trainables take it
ogb_graph: OGB's graphs with one kind of nodes and edges
ogb_hetero: OGB's graphs with several kinds of nodes or edges
ogb_meta: descriptions of sets in OGB's layouts, their splits and classes
mag240m: MAG240M's files
images: the four files of a set of images
"""
