"""TRL's step: its own `GRPOTrainer`, set up for the same mathematics and for speed, paused between steps."""

import tempfile
import threading
from typing import Any

from datasets import Dataset
from transformers import PrinterCallback, TrainerCallback
from trl import GRPOConfig, GRPOTrainer
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


def settings(work: Work, steps: int, batch: int, forbidden_ids: list[int]) -> dict[str, Any]:
    """GRPOConfig's arguments.

    batch: completions of one forward and backward pass. With as many accumulation steps per generation as per
    update, `GRPOTrainer` takes the old log-probabilities from the training pass and makes none for them.
    """
    accumulate = work.prompts * work.group // batch
    return {
        "max_steps": steps,
        "per_device_train_batch_size": batch,
        "gradient_accumulation_steps": accumulate,
        "steps_per_generation": accumulate,
        "num_generations": work.group,
        "max_completion_length": work.length,
        "num_iterations": 1,
        "beta": 0.0,
        "loss_type": "grpo",
        "scale_rewards": "group",
        "epsilon": CLIP_RATIO,
        "temperature": TEMPERATURE,
        "top_k": TOP_K,
        "top_p": 1.0,
        "generation_kwargs": {"suppress_tokens": forbidden_ids},
        "shuffle_dataset": False,
        "optim": "adamw_torch_fused",
        "learning_rate": LEARNING_RATE,
        "lr_scheduler_type": "constant",
        "adam_beta1": BETA1,
        "adam_beta2": BETA2,
        "weight_decay": 0.0,
        "max_grad_norm": CLIP_NORM,
        "bf16": False,
        "gradient_checkpointing": False,
        "use_cpu": True,
        "dataloader_pin_memory": False,
        "disable_tqdm": True,
        "logging_strategy": "no",
        "save_strategy": "no",
        "report_to": "none",
    }


class TrlStep(TrainerCallback):
    """`GRPOTrainer.train()` in a thread that runs only while `step()` waits for it."""

    def __init__(self, work: Work, policies: Policies, steps: int, batch: int | None = None):
        self.work, self.questions = work, work.questions()
        model, tokenizer = policies.copy()
        self.settings = settings(work, steps, batch or work.prompts * work.group, forbidden(tokenizer))
        self.tokens, self.error = 0, None
        self.go, self.done = threading.Semaphore(0), threading.Semaphore(0)
        self.folder = tempfile.TemporaryDirectory()
        self.trainer = GRPOTrainer(
            model=model,
            reward_funcs=self.reward,
            args=GRPOConfig(output_dir=self.folder.name, **self.settings),
            # As many rows as there are steps: an epoch a step would start the data loader anew each time.
            train_dataset=Dataset.from_list([{"prompt": one.text} for one in self.questions] * steps),
            processing_class=tokenizer,
            callbacks=[self],
        )
        self.trainer.remove_callback(PrinterCallback)
        self.thread = threading.Thread(target=self._train, daemon=True)

    def reward(self, completions: list[str], completion_ids: list[list[int]], **columns: Any) -> list[float]:
        self.tokens = sum(map(len, completion_ids))
        return synthetic_rewards(self.work, self.questions, completions)

    def step(self) -> int:
        """One optimiser step; the first call also starts the training. Returns how many tokens it sampled."""
        if not self.thread.ident:
            self.thread.start()
        else:
            self.go.release()
        self.done.acquire()
        if self.error is not None:
            raise self.error
        return self.tokens

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.done.release()
        self.go.acquire()

    def close(self) -> None:
        """Let the training end. Only after its last step."""
        self.go.release()
        self.thread.join()
        self.folder.cleanup()

    def _train(self) -> None:
        try:
            self.trainer.train()
        except BaseException as error:  # raised again in the thread that waits
            self.error = error
            self.done.release()
