"""An empty stand-in for ``dgl.graphbolt``, put there before anything imports dgl.

dgl 2.1.0 loads that library for torch of up to 2.2.1 only, and fails to import with a newer
one. Nothing here uses it. For this harness only: dgl 1.1.3 has no such library, but no wheel
for Python 3.12 either. Importing this module puts it there; it is a plug-in of pytest too.
"""

from __future__ import annotations

import sys
from types import ModuleType

sys.modules.setdefault("dgl.graphbolt", ModuleType("dgl.graphbolt"))
