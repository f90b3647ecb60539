"""Serves the contract with grpcio, which knows nothing of Dubbo: no groups, no versions.

On its standard output it prints one JSON object per line: {"event": "ready"} once it accepts connections, then what
happens to the calls that it is asked to hold, as the other providers do."""

import argparse
import base64
import json
import os
import sys
import threading
import time
from concurrent import futures

import grpc
from google.protobuf import any_pb2, empty_pb2
from google.rpc import status_pb2
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from dubbo.interop.v1 import interop_pb2 as pb

SERVICE = "dubbo.interop.v1.Greeter"
PRINTING = threading.Lock()


def notice(**what):
    with PRINTING:
        print(json.dumps(what), flush=True)


def case_of(context):
    return ",".join(value for name, value in context.invocation_metadata() if name == "interop-case")


class Held:
    """A call that waits. That it was cut short is told when the call ends before it has finished: what a handler sees of
    that depends on where it is just then, and may be nothing."""

    def __init__(self, context, method):
        self.start = time.monotonic()
        self.about = {"case": case_of(context), "method": method}
        self.finished = False
        self.over = threading.Event()
        notice(event="held", **self.about)
        if not context.add_callback(self.ended):
            self.ended()

    def wait(self, seconds):
        """Whether the time has passed; else the call was cut short."""
        return not self.over.wait(seconds)

    def finish(self):
        """What follows is how the call ends by itself."""
        self.finished = True

    def ended(self):
        if not self.finished:
            millis = int((time.monotonic() - self.start) * 1000)
            notice(event="cut_short", millis=millis, **self.about)
        # Only now: whoever waits for it finishes then.
        self.over.set()


def greet(request, _context):
    return pb.GreetResponse(greeting=f"hello {request.name}")


def lower_case(request, _context):
    return pb.GreetResponse(greeting=f"lower {request.name}")


def echo(request, _context):
    return request


def fail(request, context):
    if request.kind in (pb.FailRequest.PLAIN, pb.FailRequest.PANIC):
        raise RuntimeError(request.message)
    if request.kind == pb.FailRequest.CONTEXT:
        held = Held(context, "Fail")
        held.wait(3600)
        held.finish()
        return empty_pb2.Empty()
    status = status_pb2.Status(code=request.code, message=request.message)
    for index, text in enumerate(request.details):
        detail = any_pb2.Any()
        detail.Pack(pb.FailDetail(text=text, index=index))
        status.details.append(detail)
    context.abort_with_status(rpc_status.to_status(status))


def sleep(request, context):
    held = Held(context, "Sleep")
    held.wait(request.millis / 1000)
    held.finish()
    return pb.SleepResponse(slept_millis=request.millis)


def big_payload(request, _context):
    size = request.response_size
    payload = bytes(range(251)) * (size // 251) + bytes(range(size % 251))
    return pb.BigPayloadResponse(payload=payload, received=len(request.payload))


def attachments(request, context):
    seen = []
    for name, value in sorted(context.invocation_metadata(), key=lambda pair: pair[0]):
        if isinstance(value, bytes):
            value = base64.b64encode(value).decode().rstrip("=")
        seen.append(pb.Attachment(key=name, value=value))
    reply = []
    for asked in request.reply:
        # grpcio takes names in lower case only.
        name, value = asked.key.lower(), asked.value
        if name.endswith("-bin"):
            value = base64.b64decode(value + "=" * (-len(value) % 4))
        reply.append((name, value))
    if request.as_header:
        context.send_initial_metadata(reply)
    else:
        context.set_trailing_metadata(reply)
    return pb.AttachmentsResponse(seen=seen)


def server_stream(request, context):
    reply_case(context)
    held = Held(context, "GreetServerStream")
    for seq in range(request.count):
        if 0 < request.fail_after == seq:
            held.finish()
            as_asked(context, request.fail_code)
        if request.delay_millis and not held.wait(request.delay_millis / 1000):
            return
        yield pb.GreetResponse(greeting=f"hello {request.name} #{seq}", seq=seq)
    held.finish()


def client_stream(requests, context):
    reply_case(context)
    names = [request.name for request in received(requests, context, "GreetClientStream")]
    return pb.GreetResponse(greeting=f"hello {','.join(names)}", seq=len(names))


def bidi(requests, context):
    reply_case(context)
    for seq, request in enumerate(received(requests, context, "GreetBidi")):
        yield pb.GreetResponse(greeting=f"hello {request.name}", seq=seq)


def received(requests, context, method):
    """Requests up to the end, or to one that asks for an error."""
    held = Held(context, method)
    for request in requests:
        if request.name == "fail":
            held.finish()
            as_asked(context, request.fail_code)
        yield request
    # A call that is cancelled may look for a moment like one whose requests have come to their end.
    if held.wait(0.05):
        held.finish()


def reply_case(context):
    context.set_trailing_metadata([("interop-case", case_of(context))])


def as_asked(context, code):
    status = status_pb2.Status(code=code, message="stream failed as asked")
    context.abort_with_status(rpc_status.to_status(status))


def handlers():
    def handler(kind, function, request):
        return kind(function, request.FromString, lambda m: m.SerializeToString())

    unary = grpc.unary_unary_rpc_method_handler
    return {
        "Greet": handler(unary, greet, pb.GreetRequest),
        "lowerCase": handler(unary, lower_case, pb.GreetRequest),
        "Echo": handler(unary, echo, pb.EchoMessage),
        "Ping": handler(unary, echo, pb.PingMessage),
        "Fail": handler(unary, fail, pb.FailRequest),
        "Sleep": handler(unary, sleep, pb.SleepRequest),
        "BigPayload": handler(unary, big_payload, pb.BigPayloadRequest),
        "Attachments": handler(unary, attachments, pb.AttachmentsRequest),
        "GreetServerStream": handler(grpc.unary_stream_rpc_method_handler, server_stream, pb.GreetRequest),
        "GreetClientStream": handler(grpc.stream_unary_rpc_method_handler, client_stream, pb.GreetRequest),
        "GreetBidi": handler(grpc.stream_stream_rpc_method_handler, bidi, pb.GreetRequest),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tri", type=int, required=True, help="port to listen on, on every address")
    parser.add_argument("--until-stdin-ends", action="store_true", help="exit when the standard input ends")
    arguments = parser.parse_args()
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=32))
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, handlers())])
    states = health.HealthServicer()
    for service in ("", SERVICE):
        states.set(service, health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(states, server)
    server.add_insecure_port(f"0.0.0.0:{arguments.tri}")
    server.start()
    notice(event="ready")
    if arguments.until_stdin_ends:
        sys.stdin.read()
        # Calls that are held would hold up any other end.
        os._exit(1)
    server.wait_for_termination()


main()
