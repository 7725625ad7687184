"""The same step as a plain loop over `transformers`: what a person writes who wants no framework."""

import torch
from work import (
    BETA1,
    BETA2,
    CLIP_NORM,
    CLIP_RATIO,
    LEARNING_RATE,
    TEMPERATURE,
    TOP_K,
    Policies,
    Work,
    forbidden,
    synthetic_rewards,
)


class BareLoop:
    """Generate with a cache, one pass forwards and backwards over prompts and completions, one AdamW step."""

    def __init__(self, work: Work, policies: Policies):
        self.work, self.questions = work, work.questions()
        self.model, self.tokenizer = policies.copy()
        self.tokenizer.padding_side = "left"
        self.optimiser = torch.optim.AdamW(
            self.model.parameters(), LEARNING_RATE, betas=(BETA1, BETA2), weight_decay=0.0, fused=True
        )

    def step(self) -> int:
        """One GRPO step; returns how many tokens were sampled and learnt from."""
        work = self.work
        texts = [question.text for question in self.questions for _ in range(work.group)]
        batch = self.tokenizer(texts, padding=True, add_special_tokens=False, return_tensors="pt")
        with torch.no_grad():
            sequences = self.model.generate(
                input_ids=batch.input_ids,
                attention_mask=batch.attention_mask,
                do_sample=True,
                temperature=TEMPERATURE,
                top_k=TOP_K,
                top_p=1.0,
                max_new_tokens=work.length,
                suppress_tokens=forbidden(self.tokenizer),
                pad_token_id=self.tokenizer.pad_token_id,
            )
        completions = sequences[:, batch.input_ids.shape[1] :]
        decoded = self.tokenizer.batch_decode(completions, skip_special_tokens=True)

        rewards = torch.tensor(synthetic_rewards(work, self.questions, decoded)).view(-1, work.group)
        centred = rewards - rewards.mean(1, keepdim=True)
        advantages = (centred / (rewards.std(1, keepdim=True) + 1e-4)).view(-1, 1)

        mask = torch.cat([batch.attention_mask, torch.ones_like(completions)], dim=1)
        output = self.model(
            input_ids=sequences,
            attention_mask=mask,
            position_ids=(mask.cumsum(-1) - 1).clamp(min=0),
            logits_to_keep=work.length + 1,
        )
        logprobs = torch.log_softmax(output.logits[:, :-1] / TEMPERATURE, dim=-1)
        logprobs = logprobs.gather(-1, completions.unsqueeze(-1)).squeeze(-1)
        ratio = (logprobs - logprobs.detach()).exp()
        clipped = ratio.clamp(1 - CLIP_RATIO, 1 + CLIP_RATIO)
        loss = -torch.minimum(ratio * advantages, clipped * advantages).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP_NORM)
        self.optimiser.step()
        self.optimiser.zero_grad()
        return completions.numel()

    def close(self) -> None:
        pass
