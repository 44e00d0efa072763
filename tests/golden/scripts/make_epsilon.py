"""Writes epsilon.json: what Google's dp-accounting (0.6.0) says of 60 settings of the Gaussian mechanism.

`pip install dp-accounting==0.6.0`, then `python3 make_epsilon.py`.
"""
import itertools
import json
from pathlib import Path

from dp_accounting import dp_event
from dp_accounting.rdp import RdpAccountant

settings = list(itertools.product((0.3, 0.8, 1.1, 2.5, 20.0), (1, 40, 1000), (1e-5, 1e-8), (1.0, 0.01)))
rows = []
for noise, rounds, delta, sampling in settings:
    event = dp_event.GaussianDpEvent(noise)
    if sampling < 1:
        event = dp_event.PoissonSampledDpEvent(sampling, event)
    epsilon = RdpAccountant().compose(event, rounds).get_epsilon(delta)
    rows.append({"noiseMultiplier": noise, "rounds": rounds, "delta": delta, "samplingRate": sampling,
                 "epsilon": float(epsilon)})
path = Path(__file__).parent.parent / "data" / "epsilon.json"
path.write_text(json.dumps(rows, indent=1) + "\n")
