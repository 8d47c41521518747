"""The record of a sweep: a run goes on only with the same question.

question: what is asked, whatever machine and data answer it
sweep_json: all that is known before the first trial, which ``sweep.json`` holds
"""
