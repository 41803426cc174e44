"""The script that Streamlit runs, anew for each interaction.

In a folder of its own, since Streamlit puts that folder on the import path.
"""

import sys

from cachecast.dashboard.arguments import read
from cachecast.dashboard.frame import draw

draw(read(sys.argv[1:]))
