"""The proxy between a client and a server: bytes, order, counts, and lower bounds of its times."""

import http.client
import http.server
import json
import os
import random
import socket
import tempfile
import threading
import time
import unittest

from harness.machine import Scope
from harness.servers import Proxy, build_proxy


class Store(http.server.BaseHTTPRequestHandler):
    """Answers a GET with bytes, and a PUT with the bytes that it was sent."""

    protocol_version = "HTTP/1.1"
    contents = random.Random(1).randbytes(300_000)

    def log_message(self, *_):
        pass

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(self.contents)

    def do_PUT(self):
        if "Transfer-Encoding" not in self.headers:
            return self.answer(self.rfile.read(int(self.headers["Content-Length"])))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        self.answer(body)


class ProxyTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp()
        cls.program = build_proxy(cls.directory)

    @classmethod
    def tearDownClass(cls):
        for name in os.listdir(cls.directory):
            os.unlink(os.path.join(cls.directory, name))
        os.rmdir(cls.directory)

    def setUp(self):
        self.scope = Scope()
        self.addCleanup(self.scope.close)

    def start(self, target, rtt="0ms", rate=None):
        proxy = Proxy(self.program, target, rtt, rate, self.directory)
        self.scope.add(proxy.stop)
        return proxy

    def start_store(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Store)
        self.scope.add(server.server_close)
        self.scope.add(server.shutdown)
        threading.Thread(target=server.serve_forever).start()
        return server.server_port

    def start_server(self, serve):
        """A server for one connection."""
        listener = socket.create_server(("127.0.0.1", 0))

        def accept():
            with listener, listener.accept()[0] as connection:
                serve(connection)

        thread = threading.Thread(target=accept)
        thread.start()
        self.scope.add(thread.join)
        return listener.getsockname()[1]

    def start_echo(self):
        def echo(connection):
            while data := connection.recv(1 << 16):
                connection.sendall(data)

        return self.start_server(echo)

    def connect(self, proxy):
        connection = socket.create_connection(("127.0.0.1", proxy.port))
        self.scope.add(connection.close)
        return connection

    def test_requests_are_counted_by_method_and_bodies_pass_unchanged(self):
        proxy = self.start(self.start_store(), rtt="1ms")
        body = b"GET /body HTTP/1.1\r\n\r\n" * 50_000  # No request, though it looks like some.

        def use():
            client = http.client.HTTPConnection("127.0.0.1", proxy.port)
            for _ in range(2):
                client.request("GET", "/a")
                self.assertEqual(client.getresponse().read(), Store.contents)
                client.request("PUT", "/b", body)
                self.assertEqual(client.getresponse().read(), body)
                parts = iter([body[:7], body[7:100_000], body[100_000:]])
                client.request(
                    "PUT",
                    "/c",
                    parts,
                    encode_chunked=True,
                    headers={"Transfer-Encoding": "chunked"},
                )
                self.assertEqual(client.getresponse().read(), body)
            client.close()
            return True

        results = []
        threads = [threading.Thread(target=lambda: results.append(use())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [True] * 4)
        counts = proxy.counts()
        self.assertEqual(counts["methods"], {"GET": 8, "PUT": 16})
        self.assertEqual(counts["requests"], 24)
        self.assertEqual(counts["connections"], 4)
        self.assertGreater(counts["bytes_up"], 16 * len(body))
        self.assertGreater(counts["bytes_down"], 8 * len(Store.contents) + 16 * len(body))

    def test_bytes_that_are_no_requests_are_counted_as_bytes_alone(self):
        proxy = self.start(self.start_echo())
        with self.connect(proxy) as client:
            client.sendall(b"\x16\x03\x01 no HTTP\r\n")
            self.assertEqual(len(client.recv(13, socket.MSG_WAITALL)), 13)
            client.sendall(b"GET / HTTP/1.1\r\n\r\n")
            self.assertEqual(len(client.recv(18, socket.MSG_WAITALL)), 18)
        counts = proxy.counts()
        self.assertEqual(
            (counts["requests"], counts["bytes_up"], counts["bytes_down"]), (0, 31, 31)
        )

    def test_an_end_of_one_direction_leaves_the_other_open(self):
        def answer_at_end(connection):
            size = 0
            while data := connection.recv(1 << 16):
                size += len(data)
            connection.sendall(b"%d" % size)

        client = self.connect(self.start(self.start_server(answer_at_end), rtt="2ms"))
        client.sendall(bytes(3_000_000))
        client.shutdown(socket.SHUT_WR)
        self.assertEqual(client.makefile("rb").read(), b"3000000")

    def test_no_byte_is_lost_or_moved_if_both_sides_send_much(self):
        client = self.connect(self.start(self.start_echo(), rtt="5ms", rate="64MiB"))
        data = random.Random(2).randbytes(4 << 20)
        sender = threading.Thread(target=client.sendall, args=(data,))
        sender.start()
        self.assertEqual(client.recv(len(data), socket.MSG_WAITALL), data)
        sender.join()

    def test_an_exchange_takes_a_round_trip_and_the_first_one_more(self):
        client = self.connect(self.start(self.start_echo(), rtt="40ms"))
        for least in (0.079, 0.039, 0.039):
            start = time.monotonic()
            client.sendall(b"x")
            client.recv(1)
            self.assertGreaterEqual(time.monotonic() - start, least)

    def test_exchanges_overlap(self):
        client = self.connect(self.start(self.start_echo(), rtt="200ms"))
        start = time.monotonic()
        for _ in range(50):  # One after the other they would take 10 s.
            client.sendall(b"x")
            time.sleep(0.001)
        client.recv(50, socket.MSG_WAITALL)
        self.assertLess(time.monotonic() - start, 5)

    def test_a_connection_does_not_exceed_its_rate(self):
        def send_much(connection):
            connection.sendall(bytes(1 << 20))

        client = self.connect(self.start(self.start_server(send_much), rate="4MiB"))
        start = time.monotonic()
        client.recv(1 << 20, socket.MSG_WAITALL)
        self.assertGreaterEqual(time.monotonic() - start, 0.24)

    def test_a_server_that_is_gone_ends_the_connection(self):
        port = self.start_server(lambda connection: None)
        client = self.connect(self.start(port, rtt="2ms"))
        self.assertEqual(client.recv(1), b"")
        again = self.connect(self.start(port, rtt="2ms"))
        try:
            self.assertEqual(again.recv(1), b"")
        except ConnectionResetError:
            pass

    def test_the_counts_are_printed_at_the_end(self):
        proxy = self.start(self.start_echo())
        with self.connect(proxy) as client:
            client.sendall(b"abc")
            client.recv(3, socket.MSG_WAITALL)
        proxy.program.process.terminate()
        self.assertEqual(json.loads(proxy.output.read())["bytes_up"], 3)
