"""The options of the command line.

declaration: the declaration of one option
question: what is trained, and how it is searched
place: where it runs, and what is left behind
settings: values of ``--set``, and the options that they replaced
options: all of them; what a resumed run takes over
contradictions: options that cannot stand together
"""

from orchestrator.driver.options.contradictions import contradictions
from orchestrator.driver.options.options import DECLARATIONS, Options

__all__ = ["DECLARATIONS", "Options", "contradictions"]
