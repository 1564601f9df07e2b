"""Work in processes of their own."""

import asyncio
import os
import time

import pytest

from custard.cli.serve.jobs import Busy, Worker


def work(request):
    if request.get("sleep"):
        time.sleep(60)
    if request.get("exit"):
        os._exit(3)
    if request.get("fail"):
        raise ValueError("no")
    return {"twice": 2 * request["n"]}


def done(*requests, seconds=20.0, most=8):
    async def all_of_them():
        worker = Worker(work, seconds, most)
        try:
            return [await worker.do(request) for request in requests]
        finally:
            worker.close()

    return asyncio.run(all_of_them())


def test_one_request_after_the_other_and_mistakes_are_answers():
    found = done({"n": 2}, {"n": 1, "fail": True}, {"n": 3})
    assert found == [
        {"twice": 4},
        {"error": "this is a mistake of the program: ValueError('no')"},
        {"twice": 6},
    ]


def test_a_process_that_ends_or_takes_too_long_is_replaced():
    found = done({"n": 1, "exit": True}, {"n": 4})
    assert found[0] == {"error": "the run needs more memory than the server gives to a run"}
    assert found[1] == {"twice": 8}
    (late,) = done({"n": 1, "sleep": True}, seconds=1.5)
    assert late == {"error": "this took more than 1.5 s, and was ended"}


def test_more_work_than_it_takes_is_refused():
    with pytest.raises(Busy, match="0 requests wait already"):
        done({"n": 1}, most=0)
