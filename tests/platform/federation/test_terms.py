"""What clients add to their updates does what it says."""

import numpy as np
import pytest
import torch
from torch.nn import Parameter

from turncoat.platform.federation.terms import Both, PowerPropagation, Proximal, powers, roots


def parameters(*values: float) -> dict[str, Parameter]:
    return {"w": Parameter(torch.tensor(values))}


def stepped(terms: object, weights: dict[str, Parameter], gradient: list[float], lr: float = 0.1) -> list:
    """One step of plain SGD, as the learner takes it."""
    weights["w"].grad = torch.tensor(gradient)
    terms.before_step(weights)
    torch.optim.SGD(weights.values(), lr).step()
    terms.after_step(weights)
    return weights["w"].tolist()


def test_the_pull_is_the_gradient_of_the_proximal_loss() -> None:
    """μ/2 ‖θ − θ_t‖² by autograd: a wrong factor would be another μ than the config's."""
    weights = parameters(1.0, -2.0, 0.5)
    term = Proximal(0.3, weights)
    with torch.no_grad():
        weights["w"] += torch.tensor([0.1, 0.2, 0.0])
    anchor = torch.tensor([1.0, -2.0, 0.5])
    loss = 0.15 * ((weights["w"] - anchor) ** 2).sum() + (weights["w"] * 3).sum()
    (expected,) = torch.autograd.grad(loss, weights["w"])
    weights["w"].grad = torch.full((3,), 3.0)
    term.before_step(weights)
    assert torch.allclose(weights["w"].grad, expected)
    weights["w"].grad = None
    term.before_step(weights)
    assert torch.allclose(weights["w"].grad, expected - 3), "also where no gradient came"


def test_at_the_round_s_start_there_is_no_pull() -> None:
    """The first local step of FedProx is plain: the anchor is a copy, not the moving weights."""
    weights = parameters(1.0, 2.0)
    term = Proximal(10.0, weights)
    assert stepped(term, weights, [1.0, 0.0]) == pytest.approx([0.9, 2.0])
    assert stepped(term, weights, [0.0, 0.0]) == pytest.approx([1.0, 2.0])  # 0.9 + 0.1 · 10 · 0.1


def test_power_propagation_trains_v_where_w_is_a_power_of_it() -> None:
    """The step of v by autograd through w = v |v|^(p-1); w = 0 stays 0, small weights move less."""
    power, start = 1.5, [0.5, -0.01, 0.0, -2.0]
    v = roots(torch.tensor(start), power).requires_grad_()
    (powers(v, power) * torch.tensor([1.0, 1.0, 1.0, -1.0])).sum().backward()
    expected = powers(v.detach() - 0.1 * v.grad, power)
    found = stepped(PowerPropagation(power), parameters(*start), [1.0, 1.0, 1.0, -1.0])
    assert found[2] == 0.0  # Where autograd itself knows no derivative.
    assert found[:2] + found[3:] == pytest.approx(expected[[0, 1, 3]].tolist(), rel=1e-5)
    moved = np.abs(np.array(found) - start)
    assert moved[1] < moved[0] < moved[3]


def test_roots_undo_powers() -> None:
    """Between steps the policy computes with w: what was written back must be what was taken."""
    w = torch.tensor([1e-3, -0.7, 0.0, 3.0, -1e-12])
    assert torch.allclose(powers(roots(w, 1.25), 1.25), w, rtol=1e-5, atol=0)
    assert torch.equal(roots(w, 1.0), w)


def test_the_pull_is_felt_in_the_coordinates_of_w() -> None:
    """FedProx with SparsyFed: distances are the policy's, and both see the gradient once."""
    weights = parameters(0.25)
    terms = Both(Proximal(2.0, parameters(0.0)), PowerPropagation(2.0))
    # grad_w = 1 + 2 · 0.25; grad_v = grad_w · 2 · 0.5; v = 0.5 - 0.1 · 1.5; w = v².
    assert stepped(terms, weights, [1.0]) == pytest.approx([0.35**2])
