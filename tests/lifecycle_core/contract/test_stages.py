"""The catalogue of stages is complete and speaks only of what is there."""

from typing import get_args

import pytest

from lifecycle_core.contract import events, stages, subjects
from lifecycle_core.contract.stages import Stage


def test_there_are_thirteen_stages_and_each_of_the_six_identities_has_one() -> None:
    assert len(stages.CATALOGUE) == len(stages.BY_NAME) == 13
    assert {stage.of for stage in stages.CATALOGUE} == set(get_args(stages.Of.__value__))


@pytest.mark.parametrize("stage", stages.CATALOGUE, ids=lambda stage: stage.name)
def test_a_stage_speaks_only_of_what_is_there(stage: Stage) -> None:
    assert set(stage.told) <= set(events.BY_KIND)
    assert "observer" in stage.kinds
    assert bool(stage.mutable) == bool(stage.kinds & {"transformer", "interceptor"})
    assert stage.flags <= set(get_args(stages.Flag.__value__))


def test_only_the_calls_of_models_and_tools_have_carriers() -> None:
    assert [stage.name for stage in stages.CATALOGUE if stage.carrier] == ["model.call", "tool.call"]


def test_a_step_is_not_a_model_turn() -> None:
    step, turn = stages.BY_NAME[stages.STEP_RUN], stages.BY_NAME[stages.MODEL_CALL]
    assert (step.of, turn.of) == ("step", "model turn")
    assert {"step", "model_turn"} <= set(subjects.Identity.__dataclass_fields__)
