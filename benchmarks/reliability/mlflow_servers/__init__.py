"""Servers in MLflow's place that fail: no trial is lost, and MLflow is brought up to date later.

=========  ===================================================================
__main__   the campaign: each fault at the start, midway and at the end of a run
proxy      a server in front of MLflow's own that behaves well or badly
=========  ===================================================================
"""
