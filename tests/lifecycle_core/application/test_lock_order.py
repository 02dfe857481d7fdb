"""Commands that touch several invocations take their locks in one order: the delivery, its invocations, the feed's head."""

from uuid import UUID

import pytest

from lifecycle_core.application import cancellations, deliveries
from lifecycle_core.contract import errors
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import World
from tests.lifecycle_core.journal import racing

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("round_", range(4))
def test_a_delivery_and_one_of_its_invocations_are_cancelled_at_once(world: World, round_: int) -> None:
    first = world.start(w.complete(), delivery="d1")
    second = world.start(w.complete(), delivery="d1")
    delivery = UUID(world.item(first).delivery_id)
    results = racing.together(
        lambda: deliveries.cancel(w.ANN, delivery, comment="enough", key="all"),
        lambda: cancellations.cancel(w.ANN, first, comment="enough", key="one"),
        lambda: cancellations.cancel(w.ANN, second, comment="enough", key="two"),
        lambda: deliveries.retire(w.ANN, delivery, authorization="a1", key="gone"),
    )
    refused = [result for result in results if isinstance(result, Exception)]
    assert all(isinstance(result, errors.Refused) for result in refused), results
