"""Space of a sweep: the knobs of a trainable, and the values that they may have.

=========  ===================================================================
declare    ``@knobs`` and the functions that declare a knob of a role
knob       ``Knob``: type, range and role, and the check of a value
domains    ``choice``, ``uniform``, ``loguniform``, ``normal``, ``integers``
ray_tune   Ray Tune's domains in ours
configs    a value for every knob: canonical form, parsing, formatting
=========  ===================================================================
"""
