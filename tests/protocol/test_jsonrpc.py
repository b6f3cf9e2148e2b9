import pytest

from quillback_protocol.jsonrpc import (
    INTERNAL_ERROR,
    ErrorData,
    ErrorResponse,
    Invalid,
    Notification,
    Request,
    Response,
    RpcError,
    classify,
    to_object,
)


def message(**members):
    return {"jsonrpc": "2.0", **members}


@pytest.mark.parametrize("request_id", [0, 1, -5, 2**80, "0", "", "a-b", "é😀\ufffd", None])
def test_request_ids_are_kept_with_their_type(request_id):
    request = classify(message(id=request_id, method="m"))
    assert request == Request(request_id, "m")
    assert type(request.id) is type(request_id)
    assert to_object(Response(request.id, {})) == message(id=request_id, result={})


@pytest.mark.parametrize("request_id", [True, False, 1.0, 1.5, [], [1], {}, "\ud800", "é\udfff"])
def test_other_ids_are_invalid_and_not_echoed(request_id):
    invalid = classify(message(id=request_id, method="m"))
    assert isinstance(invalid, Invalid)
    assert invalid.answerable
    assert invalid.id is None


@pytest.mark.parametrize("params", [{"a": 1}, [1], [], {}])
def test_params_may_be_an_object_or_an_array(params):
    assert classify(message(id=1, method="m", params=params)) == Request(1, "m", params)
    assert classify(message(method="m", params=params)) == Notification("m", params)


def test_null_params_are_absent_ones():
    assert classify(message(id=1, method="m", params=None)) == Request(1, "m")
    assert to_object(Request(1, "m")) == message(id=1, method="m")


@pytest.mark.parametrize(
    ("obj", "request_id"),
    [
        (message(id=1), 1),
        (message(id="x", method=5), "x"),
        (message(id=1, method=None), 1),
        (message(id=1, method="m", params=5), 1),
        (message(id=1, method="m", params="text"), 1),
        (message(method="m", params=True), None),
        ({"id": 1, "method": "m"}, 1),
        ({"jsonrpc": "1.0", "id": 1, "method": "m"}, 1),
        ({"jsonrpc": 2.0, "id": 1, "method": "m"}, 1),
        ({}, None),
        (5, None),
        ("text", None),
        (None, None),
    ],
)
def test_broken_requests_are_answered_with_the_id_that_can_be_read(obj, request_id):
    invalid = classify(obj)
    assert isinstance(invalid, Invalid)
    assert invalid.answerable
    assert invalid.id == request_id


@pytest.mark.parametrize("batch", [[], [message(id=1, method="m")], [1, 2, 3]])
def test_a_batch_is_one_invalid_message(batch):
    assert classify(batch) == Invalid("JSON-RPC batches are not supported")


def test_nested_jsonrpc_keys_mean_nothing():
    inner = {"jsonrpc": "1.0", "id": [], "method": 5}
    assert classify(message(id=1, method="m", params=inner)) == Request(1, "m", inner)
    assert classify(message(id=1, result=inner)) == Response(1, inner)


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (message(id=1, result=None), Response(1, None)),
        (message(id="a", result=[]), Response("a", [])),
        (message(id=1, result={}, error=None), Response(1, {})),
        (message(id=1, error={"code": -1, "message": "no"}), ErrorResponse(1, ErrorData(-1, "no"))),
        (
            message(id=None, error={"code": -1, "message": "no", "data": [1]}),
            ErrorResponse(None, ErrorData(-1, "no", [1])),
        ),
        (message(id=1, result=1, error={"code": -1, "message": "no"}), ErrorResponse(1, ErrorData(-1, "no"))),
    ],
)
def test_answers(obj, expected):
    assert classify(obj) == expected


@pytest.mark.parametrize("error", ["no", 5, None, {}, {"code": "x", "message": "m"}, {"code": 1}])
def test_a_malformed_error_still_settles_its_request(error):
    answer = classify(message(id=1, error=error))
    assert isinstance(answer, ErrorResponse)
    assert (answer.id, answer.error.code) == (1, INTERNAL_ERROR)


@pytest.mark.parametrize(
    "obj", [message(result=1), message(id=1.5, result=1), message(id=[], error={}), {"id": 1, "result": 1}]
)
def test_an_answer_that_belongs_to_no_request_is_never_answered(obj):
    invalid = classify(obj)
    assert isinstance(invalid, Invalid)
    assert not invalid.answerable


def test_to_object_leaves_out_what_is_absent():
    assert to_object(Notification("m", {"a": 1})) == message(method="m", params={"a": 1})
    assert to_object(Notification("m")) == message(method="m")
    error = RpcError(-32002, "not found", {"sessionId": "s"}).error
    body = {"code": -32002, "message": "not found", "data": {"sessionId": "s"}}
    assert to_object(ErrorResponse(1, error)) == message(id=1, error=body)
    assert to_object(ErrorResponse(1, ErrorData(-1, "x"))) == message(id=1, error={"code": -1, "message": "x"})
