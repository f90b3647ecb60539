"""Calls the contract with grpcio, which knows nothing of Dubbo, and prints one JSON object per case, in one line, as the
other consumers do. It reports and does not judge."""

import argparse
import base64
import json
import math
import queue
import threading
import time

import grpc
from google.protobuf import empty_pb2, json_format
from grpc_health.v1 import health_pb2
from grpc_status import rpc_status

from dubbo.interop.v1 import interop_pb2 as pb

SERVICE = "dubbo.interop.v1.Greeter"
GREETER = f"/{SERVICE}/"
# No call without a shorter deadline may take longer.
TIMEOUT = 3.0
HASTY = 0.3


class Case:
    """One case: a channel, and what every call of the case carries."""

    def __init__(self, channel, label):
        self.channel = channel
        self.metadata = [("interop-case", label)]
        # What the calls gave before an error.
        self.got = None

    def unary(self, path, response):
        return self.channel.unary_unary(path, lambda m: m.SerializeToString(), response.FromString)

    def call(self, path, request, response, timeout=TIMEOUT, more=(), **options):
        """The answer and the call, which has its metadata."""
        method = self.unary(path, response)
        return method.with_call(request, timeout=timeout, metadata=[*self.metadata, *more], **options)

    def stream(self, method):
        kinds = {
            "GreetServerStream": self.channel.unary_stream,
            "GreetClientStream": self.channel.stream_unary,
            "GreetBidi": self.channel.stream_stream,
        }
        return kinds[method](GREETER + method, lambda m: m.SerializeToString(), pb.GreetResponse.FromString)


def greet(name="dubbo", path=GREETER + "Greet", **options):
    def run(case):
        answer, _ = case.call(path, pb.GreetRequest(name=name), pb.GreetResponse, **options)
        return answer.greeting

    return run


def echo(message):
    def run(case):
        answer, _ = case.call(GREETER + "Echo", message, pb.EchoMessage)
        return "equal" if answer == message else json_format.MessageToDict(answer)

    return run


def fail(timeout=TIMEOUT, **request):
    def run(case):
        case.call(GREETER + "Fail", pb.FailRequest(**request), empty_pb2.Empty, timeout=timeout)
        return "no error"

    return run


def sleep(millis, timeout=TIMEOUT):
    def run(case):
        answer, _ = case.call(GREETER + "Sleep", pb.SleepRequest(millis=millis), pb.SleepResponse, timeout=timeout)
        return answer.slept_millis

    return run


def big(request, response, **options):
    def run(case):
        asked = pb.BigPayloadRequest(payload=pattern(request), response_size=response)
        answer, _ = case.call(GREETER + "BigPayload", asked, pb.BigPayloadResponse, timeout=4 * TIMEOUT, **options)
        return {"received": answer.received, "as_asked": answer.payload == pattern(response)}

    return run


def attachments(more, **request):
    def run(case):
        asked = pb.AttachmentsRequest(**request)
        answer, call = case.call(GREETER + "Attachments", asked, pb.AttachmentsResponse, more=more)
        return {
            "seen": [f"{a.key}: {a.value}" for a in answer.seen],
            "header": lines(call.initial_metadata()),
            "trailer": lines(call.trailing_metadata()),
        }

    return run


def health(service):
    def run(case):
        asked = health_pb2.HealthCheckRequest(service=service)
        answer, _ = case.call("/grpc.health.v1.Health/Check", asked, health_pb2.HealthCheckResponse)
        return health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)

    return run


def health_watch(service):
    """Reports the first status only."""

    def run(case):
        watch = case.channel.unary_stream(
            "/grpc.health.v1.Health/Watch",
            lambda m: m.SerializeToString(),
            health_pb2.HealthCheckResponse.FromString,
        )
        asked = health_pb2.HealthCheckRequest(service=service)
        answers = watch(asked, timeout=TIMEOUT, metadata=case.metadata)
        status = next(answers).status
        answers.cancel()
        return health_pb2.HealthCheckResponse.ServingStatus.Name(status)

    return run


def server_stream(timeout=TIMEOUT, **request):
    def run(case):
        case.got = []
        for item in case.stream("GreetServerStream")(
            pb.GreetRequest(**request), timeout=timeout, metadata=case.metadata
        ):
            case.got.append(item.greeting)
        return case.got

    return run


def client_stream(names, code=0):
    def run(case):
        requests = (pb.GreetRequest(name=name, fail_code=code) for name in names)
        answer = case.stream("GreetClientStream")(requests, timeout=TIMEOUT, metadata=case.metadata)
        return {"greeting": answer.greeting, "seq": answer.seq}

    return run


def bidi(names, code=0):
    """Sends the next name when the last one is answered."""

    def run(case):
        case.got = []
        requests = queue.Queue()
        answers = case.stream("GreetBidi")(iter(requests.get, None), timeout=TIMEOUT, metadata=case.metadata)
        try:
            for name in names:
                requests.put(pb.GreetRequest(name=name, fail_code=code))
                case.got.append(next(answers).greeting)
        finally:
            requests.put(None)
        for extra in answers:
            raise AssertionError(f"no end of the stream: {extra}")
        return case.got

    return run


def trailers(method):
    """The trailers of a stream with one request, read to its end."""

    def run(case):
        request = pb.GreetRequest(name="a", count=1)
        if method == "GreetClientStream":
            _, call = case.stream(method).with_call(iter([request]), timeout=TIMEOUT, metadata=case.metadata)
        else:
            given = request if method == "GreetServerStream" else iter([request])
            call = case.stream(method)(given, timeout=TIMEOUT, metadata=case.metadata)
            list(call)
        return lines(call.trailing_metadata())

    return run


def last_of(run):
    """Keeps the number of items and the last one."""

    def counted(case):
        items = run(case)
        case.got = None
        return {"count": len(items), "last": items[-1]}

    return counted


def cancel(case):
    call = case.unary(GREETER + "Sleep", pb.SleepResponse).future(
        pb.SleepRequest(millis=1000), timeout=TIMEOUT, metadata=case.metadata
    )
    threading.Timer(0.2, call.cancel).start()
    return ended(call).slept_millis


def cancel_stream(case):
    """Cancels after two of a hundred items."""
    asked = pb.GreetRequest(name="x", count=100, delay_millis=50)
    items = case.stream("GreetServerStream")(asked, metadata=case.metadata)
    case.got = 0
    for _ in items:
        case.got += 1
        if case.got == 2:
            items.cancel()


def cancel_client_stream(case):
    """Cancels after one request, while the provider waits for more."""
    requests = queue.Queue()
    call = case.stream("GreetClientStream").future(iter(requests.get, None), metadata=case.metadata)
    requests.put(pb.GreetRequest(name="a"))
    threading.Timer(0.2, call.cancel).start()
    try:
        return ended(call).greeting
    finally:
        requests.put(None)


def cancel_bidi(case):
    """Cancels after one answer, while the provider waits for the next request."""
    requests = queue.Queue()
    answers = case.stream("GreetBidi")(iter(requests.get, None), metadata=case.metadata)
    requests.put(pb.GreetRequest(name="a"))
    case.got = [next(answers).greeting]
    answers.cancel()
    try:
        next(answers)
    finally:
        requests.put(None)


class Cancelled(Exception):
    """What grpcio has no status for: a call that was cancelled here."""


def ended(call):
    try:
        return call.result()
    except grpc.FutureCancelledError as error:
        raise Cancelled from error


def full_echo():
    message = pb.EchoMessage(
        f_double=math.pi, f_float=-1.5, f_int32=-(2**31), f_int64=2**63 - 1, f_uint32=2**32 - 1, f_uint64=2**64 - 1,
        f_sint32=-7, f_sint64=-(1 << 40), f_fixed32=0xDEADBEEF, f_fixed64=0xFEEDFACECAFEBEEF, f_sfixed32=-2,
        f_sfixed64=-3, f_bool=True, f_string="plain, é, 中文, 😀, \0.", f_bytes=b"\x00\x01\xfe\xff",
        f_enum=pb.COLOR_BLUE, r_int32=[1, -1, 300, 0], r_string=["", "x", "é"], r_bytes=[b"", b"\xff"],
        r_enum=[pb.COLOR_NEGATIVE, pb.COLOR_RED], r_double=[0.0, math.inf, -math.inf], m_string={"k": "v"},
        m_enum={True: pb.COLOR_GREEN}, o_string="", opt_int32=0, opt_string="",
    )
    nested = pb.EchoMessage.Nested(name="n", id=-1, child=pb.EchoMessage.Nested(name="child", id=-(2**63)))
    message.f_nested.CopyFrom(nested)
    message.r_nested.extend([nested, pb.EchoMessage.Nested()])
    message.m_nested[-5].name = "m"
    message.ts.FromNanoseconds(1_500_000_000_123_456_789)
    message.duration.FromMilliseconds(-1500)
    message.any.Pack(pb.FailDetail(text="in any", index=3))
    message.wrapped.SetInParent()
    message.wrapped_int64.SetInParent()
    return message


def pattern(size):
    return bytes(i % 251 for i in range(251)) * (size // 251) + bytes(range(size % 251))


def lines(metadata):
    """Metadata as "name: value", binary values as they are on the wire."""
    return sorted(f"{name}: {plain(value)}" for name, value in metadata)


def plain(value):
    return value if isinstance(value, str) else base64.b64encode(value).decode().rstrip("=")


def of(group="", version=""):
    """Greets a service with group and version, which are headers of Triple."""
    headers = {"tri-service-group": group, "tri-service-version": version}
    return greet(more=[header for header in headers.items() if header[1]])


MANY = [str(n) for n in range(500)]
REPLY = [
    pb.Attachment(key="reply-one", value="1"),
    pb.Attachment(key="Reply-Two", value="2a"),
    pb.Attachment(key="Reply-Two", value="2b"),
    pb.Attachment(key="reply-bin", value="AAH+/w"),
]

# The names and what they mean are shared with the other consumers.
CASES = {
    "greet": greet(),
    "greet_empty": greet(""),
    "greet_unicode": greet("é 中文 😀"),
    "echo_all": echo(full_echo()),
    "echo_zero": echo(pb.EchoMessage()),
    "server_stream": server_stream(name="dubbo", count=3),
    "server_stream_none": server_stream(name="dubbo"),
    "server_stream_fail_first": server_stream(name="dubbo", count=5, fail_after=2, fail_code=9),
    "server_stream_many": last_of(server_stream(name="dubbo", count=2000)),
    "server_stream_attachments": trailers("GreetServerStream"),
    "client_stream": client_stream(["a", "b", "c"]),
    "client_stream_none": client_stream([]),
    "client_stream_fail": client_stream(["a", "fail"], code=7),
    "client_stream_many": client_stream(MANY),
    "client_stream_attachments": trailers("GreetClientStream"),
    "bidi": bidi(["a", "b", "c"]),
    "bidi_none": bidi([]),
    "bidi_fail": bidi(["a", "fail"], code=7),
    "bidi_many": last_of(bidi(MANY)),
    "bidi_attachments": trailers("GreetBidi"),
    "fail_plain": fail(kind=pb.FailRequest.PLAIN, message="boom"),
    "fail_plain_percent": fail(kind=pb.FailRequest.PLAIN, message="50% + é\n\t中 end "),
    "fail_plain_empty": fail(kind=pb.FailRequest.PLAIN),
    "fail_panic": fail(kind=pb.FailRequest.PANIC, message="panicked"),
    "fail_context": fail(timeout=HASTY, kind=pb.FailRequest.CONTEXT),
    "sleep_ok": sleep(100),
    "sleep_timeout": sleep(1000, timeout=HASTY),
    "sleep_call_timeout": sleep(1000, timeout=0.2),
    "sleep_ctx_deadline": sleep(1000, timeout=0.25),
    "stream_ctx_deadline": server_stream(timeout=0.25, name="x", count=1, delay_millis=1000),
    "cancel": cancel,
    "cancel_stream": cancel_stream,
    "cancel_client_stream": cancel_client_stream,
    "cancel_bidi": cancel_bidi,
    "big_2m": big(2 << 20, 2 << 20),
    "big_request_over": big(5 << 20, 1),
    "big_response_over": big(1, 5 << 20),
    "gzip": greet(compression=grpc.Compression.Gzip),
    "gzip_big": big(2 << 20, 2 << 20, compression=grpc.Compression.Gzip),
    "unknown_method": greet(path=GREETER + "NoSuchMethod"),
    "unknown_service": greet(path="/dubbo.interop.v1.Nobody/Greet"),
    "method_case_lower": greet(path=GREETER + "greet"),
    "method_case_upper": greet(path=GREETER + "LowerCase"),
    "method_case_exact": greet(path=GREETER + "lowerCase"),
    "method_case_wrong": greet(path=GREETER + "GREET"),
    "group_version": of("g1", "1.0.0"),
    "group_wrong_version": of("g1", "9.9.9"),
    "group_without_version": of("g1"),
    "wrong_version": of(version="9.9.9"),
    "wrong_group": of("nogroup"),
    # grpcio takes names in lower case only.
    "attachments_map": attachments(
        [("userid", "7"), ("multi", "a"), ("multi", "b"), ("x-mixed-case", "v"), ("blob-bin", b"\x00\x01\xfe\xff")],
        reply=REPLY,
    ),
    "attachments_header": attachments(
        [("userid", "7"), ("multi", "a"), ("multi", "b")],
        as_header=True,
        reply=[pb.Attachment(key="reply-header", value="1")],
    ),
    "health_check": health(""),
    "health_check_service": health(SERVICE),
    "health_check_group": health(f"g1/{SERVICE}:1.0.0"),
    "health_check_unknown": health("no.such.Service"),
    "health_watch": health_watch(SERVICE),
    "health_watch_unknown": health_watch("no.such.Service"),
}
# Codes of the protocol, and one that it does not know.
for code in [*range(1, 18), 99]:
    CASES[f"fail_code_{code:02}"] = fail(code=code, message="status as asked")
    CASES[f"fail_details_{code:02}"] = fail(code=code, message="status as asked", details=["one", "two"])


def describe(error):
    fault = {"code": error.code().value[0], "message": error.details()}
    try:
        status = rpc_status.from_call(error)
    except ValueError as mismatch:
        fault["message"] += f" ({mismatch})"
        status = None
    if status and status.details:
        fault["details"] = []
        for packed in status.details:
            detail = pb.FailDetail()
            packed.Unpack(detail)
            name = packed.type_url.rpartition("/")[2]
            fault["details"].append({"type": name, "value": json_format.MessageToDict(detail)})
    return fault


def run(channel, label):
    case = Case(channel, label)
    report = {"case": label, "got": None}
    start = time.monotonic()
    try:
        report["got"] = CASES[label.removeprefix("tri/")](case)
    except grpc.RpcError as error:
        report["got"] = case.got
        report["error"] = describe(error)
    except Cancelled:
        report["error"] = {"code": 1, "message": "cancelled here"}
    except AssertionError as error:
        report["got"] = case.got
        report["error"] = {"message": str(error)}
    report["millis"] = int((time.monotonic() - start) * 1000)
    print(json.dumps(report, ensure_ascii=False), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tri", required=True, help="host:port of the provider")
    parser.add_argument("--cases", required=True, help="comma separated tri/NAME of cases, run in this order")
    arguments = parser.parse_args()
    with grpc.insecure_channel(arguments.tri) as channel:
        for label in arguments.cases.split(","):
            run(channel, label)


main()
