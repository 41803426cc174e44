"""What every page is given: what is open, under which scenario, and how to ask."""

from dataclasses import dataclass

from cachecast.dashboard.answers import Answers, Question
from cachecast.dashboard.opened import Opened
from cachecast.dashboard.work import Work


@dataclass(frozen=True, slots=True)
class Page:
    """`scenario` is the text of `--as` that the person chose; `log` is each request's own model."""

    answers: Answers
    opened: Opened
    scenario: str

    def ask(self, question: Question, *arguments: str, behind: bool = False) -> Work:
        """The work on a question about what is open (`states.when_done` shows it)."""
        return self.answers.ask(question, self.opened, *arguments, behind=behind)
