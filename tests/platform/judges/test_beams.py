"""If these fail, a verdict depends on which cases are judged together, or is drawn from elsewhere."""

from collections import Counter

import pytest
import torch

from turncoat.platform.judges.beams import Search, beam_sample

PROMPTS = [[5, 6, 7], [8, 9], [5, 6, 7], [10, 11, 12, 13]]
WATCH = ([2, 3], [4])


def search(**changes):
    settings = {
        "beams": 3,
        "temperature": 0.7,
        "top_k": 8,
        "top_p": 0.9,
        "max_new_tokens": 6,
        "end": 1,
        "pad": 0,
    }
    return Search(**{**settings, **changes})


def test_a_row_s_text_is_its_seed_s_alone(llama):
    """Another batch, another order, other neighbours: the same verdict."""
    model = llama(1)
    together = beam_sample(model, PROMPTS, [3, 4, 5, 6], search(), WATCH)
    backwards = beam_sample(model, PROMPTS[::-1], [6, 5, 4, 3], search(), WATCH)[::-1]
    alone = [
        beam_sample(model, [p], [s], search(), WATCH)[0] for p, s in zip(PROMPTS, (3, 4, 5, 6), strict=True)
    ]
    assert (
        [one.tokens for one in together] == [one.tokens for one in backwards] == [one.tokens for one in alone]
    )
    for one, other in zip(together, alone, strict=True):
        assert one.watched == pytest.approx(other.watched, abs=1e-5)
    texts = {tuple(beam_sample(model, PROMPTS[:1], [seed], search(), WATCH)[0].tokens) for seed in range(20)}
    assert len(texts) > 3


def continuations(model, prompt, text):
    with torch.inference_mode():
        logits = model(torch.tensor([prompt + text])).logits[0]
    return logits[len(prompt) - 1 :]


def test_one_beam_with_one_token_is_greedy(llama):
    model = llama(2)
    found = beam_sample(model, PROMPTS, [0] * 4, search(beams=1, top_k=1), WATCH)
    for prompt, one in zip(PROMPTS, found, strict=True):
        logits = continuations(model, prompt, one.tokens)
        assert logits[: len(one.tokens)].argmax(-1).tolist() == one.tokens
        assert one.finished == (len(one.tokens) < 6)


def test_watched_is_the_probability_of_the_first_set(llama):
    """The judge's p_yes: at temperature 1, before any cut, and of the beam that was taken."""
    model = llama(3)
    for one, prompt in zip(beam_sample(model, PROMPTS, [1, 2, 3, 4], search(), WATCH), PROMPTS, strict=True):
        p = continuations(model, prompt, one.tokens)[: len(one.tokens)].softmax(-1)
        expected = p[:, [2, 3]].sum(-1) / p[:, [2, 3, 4]].sum(-1)
        assert one.watched == pytest.approx(expected.tolist(), abs=1e-5)


def test_one_beam_samples_the_cut_distribution(llama):
    """First tokens over many seeds against temperature, top k and top p worked out by hand."""
    model = llama(4)
    n = 4000
    found = beam_sample(model, [[5, 6]] * n, range(n), search(beams=1, max_new_tokens=1, end=39), WATCH)
    seen = Counter(one.tokens[0] if one.tokens else 39 for one in found)
    values, ids = (continuations(model, [5, 6], [])[0] / 0.7).topk(8)
    p = values.softmax(-1)
    p = p.masked_fill(p.cumsum(-1) - p >= 0.9, 0)
    p = p / p.sum()
    for id, share in zip(ids.tolist(), p.tolist(), strict=True):
        assert seen[id] / n == pytest.approx(share, abs=0.03)
    assert set(seen) <= set(ids[p > 0].tolist())


def test_beams_find_likelier_texts_than_sampling(llama):
    """What the beams are for: greedy and plain sampling did badly in the paper."""
    model = llama(5)

    def mean_logprob(beams):
        total = 0.0
        found = beam_sample(model, PROMPTS[:2] * 20, range(40), search(beams=beams, top_p=1.0, end=39), WATCH)
        for prompt, one in zip(PROMPTS[:2] * 20, found, strict=True):
            logprobs = (continuations(model, prompt, one.tokens) / 0.7).log_softmax(-1)
            total += logprobs[: len(one.tokens)].gather(1, torch.tensor(one.tokens)[:, None]).mean().item()
        return total / 40

    assert mean_logprob(4) > mean_logprob(1) + 0.1


def test_a_text_that_never_ends_is_kept_unfinished(llama):
    """It becomes a malformed verdict, not an error; and a finished one is preferred to it."""
    found = beam_sample(llama(6), PROMPTS, [1, 2, 3, 4], search(end=39, top_k=4), WATCH)
    assert all(not one.finished and len(one.tokens) == 6 for one in found)
