"""Background: what goes on to its end, whoever still waits."""

from __future__ import annotations

import logging

import anyio
import pytest

from sidecar.workspace.ports.background import Background


async def test_it_goes_on_when_who_waits_gives_up() -> None:
    done = list[str]()

    async def work(word: str) -> None:
        await anyio.sleep(0.02)
        done.append(word)

    async with anyio.create_task_group() as tasks:
        background = Background(tasks)
        with anyio.move_on_after(0):
            await background.to_its_end(work, "alone")
        assert done == []
        await background.to_its_end(work, "waited for")
        assert done == ["alone", "waited for"]


async def test_its_failure_is_raised_in_who_waits() -> None:
    async def fails() -> None:
        raise ValueError("it failed")

    async with anyio.create_task_group() as tasks:
        with pytest.raises(ValueError, match="it failed"):
            await Background(tasks).to_its_end(fails)


@pytest.mark.parametrize("in_one_moment", [True, False])
async def test_its_failure_is_logged_if_nobody_waits(
    caplog: pytest.LogCaptureFixture, in_one_moment: bool
) -> None:
    scope = anyio.CancelScope()

    async def fails() -> None:
        scope.cancel()
        if not in_one_moment:
            await anyio.sleep(0.01)
        raise ValueError("it failed")

    with caplog.at_level(logging.ERROR):
        async with anyio.create_task_group() as tasks:
            with scope:
                await Background(tasks).to_its_end(fails)
    assert "it failed" in caplog.text


async def test_who_waits_hears_that_all_tasks_are_cancelled() -> None:
    async def forever() -> None:
        await anyio.sleep_forever()

    heard = list[str]()

    async def waits(background: Background) -> None:
        try:
            await background.to_its_end(forever)
        except RuntimeError as error:
            heard.append(str(error))

    async with anyio.create_task_group() as who_waits, anyio.create_task_group() as tasks:
        who_waits.start_soon(waits, Background(tasks))
        await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
    assert heard == ["the connection is ending"]
