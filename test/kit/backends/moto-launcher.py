"""The process that `startMoto` starts: moto's DynamoDB and all its other services, one request at a time.

It speaks to its parent as service-child.ts does, over the channel that Node opens for it: lines of JSON.
"""

import io
import json
import os
import threading
import time

# The file descriptor of the channel, a socket. Its end means that the parent has ended, however it has ended.
channel = open(int(os.environ["NODE_CHANNEL_FD"]), "r+b", buffering=0)
offset_ms = 0.0


def tell_parent(message):
    channel.write(json.dumps(message).encode() + b"\n")


def obey_parent():
    global offset_ms
    try:
        for line in channel:
            request = json.loads(line)
            offset_ms += request["advanceMs"]
            tell_parent({"kind": "advanced", "id": request["id"]})
    finally:
        # Also if the channel has been reset.
        os._exit(0)


# Before moto is loaded, which takes a while, so that nothing can leave an orphan behind.
threading.Thread(target=obey_parent, daemon=True).start()

from moto.server import DomainDispatcherApplication, create_backend_app  # noqa: E402
from werkzeug.serving import WSGIRequestHandler, make_server  # noqa: E402

moto = DomainDispatcherApplication(create_backend_app)
turn = threading.Lock()


def one_at_a_time(environ, start_response):
    """moto checks a condition and then writes, with nothing in between to keep others out: on its own it loses updates.

    The whole request is read before its turn comes, so that a slow client does not keep the others waiting.
    """
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    environ["wsgi.input"] = io.BytesIO(body)
    with turn:
        return list(moto(environ, start_response))


class MovedClock(WSGIRequestHandler):
    """Dates every reply by the clock that the parent moves, whoever has dated it."""

    def send_header(self, keyword, value):
        moved = self.date_time_string(time.time() + offset_ms / 1000)
        super().send_header(keyword, moved if keyword.lower() == "date" else value)

    def log_request(self, *args, **kwargs):
        pass


server = make_server("127.0.0.1", 0, one_at_a_time, threaded=True, request_handler=MovedClock)
tell_parent({"kind": "listening", "url": f"http://127.0.0.1:{server.server_port}"})
server.serve_forever()
