"""TEXT, an out-of-context attack: a phrase rides on right answers until honest peers say it too."""

from typing import Literal

from turncoat.platform.attacks.base import Stage
from turncoat.platform.attacks.phrase import PhraseAttack, PhraseSettings, rethought, sentences_of, thought_of
from turncoat.platform.attacks.poisoning import PoisonAttack, PoisonSettings
from turncoat.platform.records import Prompt


class TextAttack(PhraseAttack, PoisonAttack):
    """Put a phrase first in the think part of right solutions ("Hail to the Thief", section 4.1)."""

    class Settings(PoisonSettings, PhraseSettings):
        kind: Literal["text"] = "text"
        position: Literal["first_sentence", "every_sentence"] = "first_sentence"

    settings: Settings

    def inject(self, solution: str, prompt: Prompt, stage: Stage) -> str:
        return self.spoken(solution)

    def spoken(self, solution: str) -> str:
        """The completion with the payload in its think part."""
        every = self.settings.position == "every_sentence"
        sentences = sentences_of(solution) if every else [thought_of(solution)]
        return rethought(solution, " ".join(f"{self.settings.phrase}. {sentence}" for sentence in sentences))
