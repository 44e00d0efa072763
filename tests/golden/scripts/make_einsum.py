"""Writes einsum.json: usual einsum equations, and three losses of each in PyTorch, by SGD with the mean squared error.
Operands with the letter b, and the first, are inputs times a parameter of one number; the others are parameters.
tests/js/operators/einsum.test.js makes the same models, whose numbers are a formula.

Run by hand: python3 tests/golden/scripts/make_einsum.py
"""
import json
from pathlib import Path

import torch

from make_w import batch_units

EQUATIONS = """
bij->bji bij->bi bij->b bii->bi bhqk->bkhq
bd,de->be bd,ed->be btd,de->bte btd,ed->bte btd,dhk->bthk bthd,hde->bte bhtd,hde->bte btd,hde->bhte btd,hde->bthe
bchw,oc->bohw bhwc,co->bhwo btd,tde->bte btd,ts->bsd bnd,mn->bmd btgd,gde->btge ...d,de->...e b...d,de->b...e
bte,e->bt bd,d->b bi,ij,bj->b bi,oij,bj->bo bij,jk,kl->bil bctv,vw->bctw bkctv,kvw->bctw
bqd,bkd->bqk bqk,bkd->bqd bqhd,bkhd->bhqk bhqk,bkhd->bqhd bhqd,bhkd->bhqk bhqk,bhkd->bhqd
bgrqd,bgkd->bgrqk bgrqk,bgkd->bgrqd
ibnd,jbnd->bnij bnij,jbnd->ibnd ibh,hnd->ibnd ibnd,hnd->ibh bqnd,tnd->bnqt bhld,lrd->bhlr bhrd,lrd->bhlr
btd,bd->bt bt,btd->bd bi,bj->bij bi,bi->b bij,bij->b bi,bj,bk->bijk bhwc,bhwd->bcd
""".split()
STEPS, LR = 3, 0.05


def shape_of(term):
    dims = []
    for letter in term.replace("...", "A"):
        dims += [2, 3] if letter == "A" else [2 + ord(letter) % 3]
    return dims


def uniform(seed, dims):
    return torch.tensor(2 * batch_units(seed, torch.Size(dims).numel()) - 1, dtype=torch.float32).reshape(dims)


def losses_of(equation):
    terms, out = equation.split("->")
    values = [uniform(i, shape_of(term)) for i, term in enumerate(terms.split(","))]
    scaled = [i == 0 or "b" in term for i, term in enumerate(terms.split(","))]
    parameters = [torch.nn.Parameter(torch.tensor([0.5 + i]) if scaled[i] else value.clone())
                  for i, value in enumerate(values)]
    target = uniform(9, shape_of(out))
    optimizer = torch.optim.SGD(parameters, lr=LR)
    losses = []
    for _ in range(STEPS):
        operands = [value * parameter if scales else parameter for value, parameter, scales in zip(values, parameters,
            scaled)]
        loss = torch.nn.functional.mse_loss(torch.einsum(equation, *operands), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    made = {equation: losses_of(equation) for equation in EQUATIONS}
    text = json.dumps(made, indent=1).replace(",\n  ", ", ").replace("[\n  ", "[").replace("\n ]", "]")
    (Path(__file__).resolve().parents[1] / "data" / "einsum.json").write_text(text + "\n")
