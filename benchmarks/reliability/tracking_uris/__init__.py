"""Tracking URIs that hold a secret, and where it is seen.

__main__: the campaign
forms: forms of such URIs
"""
