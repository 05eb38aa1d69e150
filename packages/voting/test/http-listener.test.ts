/** The requests that a server reads, and those that it refuses unread. */
import { once } from "node:events";
import type { IncomingMessage, Server } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { bodyOf, listen, type Handlers } from "../src/http-listener.ts";

const LONGEST = 8 * 1_024 * 1_024;

/** A message that arrives in pieces of these sizes, and may state its length. */
function messageOf(pieces: readonly number[], said?: number): IncomingMessage {
  const headers = said === undefined ? {} : { "content-length": String(said) };
  return Object.assign(Readable.from(pieces.map((bytes) => Buffer.alloc(bytes))), { headers }) as unknown as IncomingMessage;
}

test.each<[what: string, pieces: readonly number[], said: number | undefined, read: number | undefined]>([
  ["an empty body", [], 0, 0],
  ["eight MiB, as stated", [LONGEST], LONGEST, LONGEST],
  ["eight MiB, without a stated length", [1, LONGEST - 1], undefined, LONGEST],
  ["a longer stated length", [1], LONGEST + 1, undefined],
  ["a longer body", [LONGEST, 1], undefined, undefined],
  ["a body longer than stated", [LONGEST, 1], 1, undefined],
])("a body is read up to eight MiB: %s", async (_, pieces, said, read) => {
  expect((await bodyOf(messageOf(pieces, said)))?.length).toBe(read);
});

const NOBODY = { isPromised: () => false, answer: () => Promise.resolve("signature" as const) };

/** Listens on a free port of loopback for the time of a test. */
async function listening(handlers: Handlers): Promise<{ server: Server; port: number }> {
  const server = await listen({ host: "127.0.0.1", port: 0, tls: undefined }, handlers);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, port: (server.address() as AddressInfo).port };
}

test("an unsigned request is answered before its body is read, and its connection is closed", async () => {
  const { port } = await listening(NOBODY);
  const socket = connect(port, "127.0.0.1");
  socket.write(`POST /leasehold/voting HTTP/1.1\r\nHost: x\r\nContent-Length: ${LONGEST}\r\n\r\n`);
  const [head] = (await once(socket, "data")) as [Buffer];
  expect(head.toString()).toMatch(/^HTTP\/1.1 401 /);
  socket.resume();
  await once(socket, "close");
});

test("a signature that does not cover the length is invalid", async () => {
  const lengths: number[] = [];
  const isPromised = (_: unknown, length: number): boolean => lengths.push(length) > 1;
  const { port } = await listening({
    isPromised,
    answer: (posted) => Promise.resolve(posted === "signature" ? posted : "malformed"),
  });
  const url = `http://127.0.0.1:${port}/leasehold/voting`;
  const answers = await Promise.all(["x", "xyz"].map(async (body) => (await fetch(url, { method: "POST", body })).status));
  expect(new Set(answers)).toEqual(new Set([400, 401]));
  expect(new Set(lengths)).toEqual(new Set([1, 3]));
});

test("a connection has a time limit, and the number of connections is limited", async () => {
  const { server } = await listening(NOBODY);
  const { requestTimeout, headersTimeout, keepAliveTimeout, maxConnections } = server;
  expect({ requestTimeout, headersTimeout, keepAliveTimeout, maxConnections }).toEqual({
    requestTimeout: 10_000,
    headersTimeout: 10_000,
    keepAliveTimeout: 60_000,
    maxConnections: 1_024,
  });
});
