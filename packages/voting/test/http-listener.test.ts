/** What a server reads of those who connect, whoever they are. */
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { bodyOf, listen } from "../src/http-listener.ts";

const LONGEST = 8 * 1_024 * 1_024;

/** A message that comes in pieces of so many bytes, and may say how long it is. */
function messageOf(pieces: readonly number[], said?: number): IncomingMessage {
  const headers = said === undefined ? {} : { "content-length": String(said) };
  return Object.assign(Readable.from(pieces.map((bytes) => Buffer.alloc(bytes))), { headers }) as unknown as IncomingMessage;
}

test.each<[what: string, pieces: readonly number[], said: number | undefined, read: number | undefined]>([
  ["nothing", [], 0, 0],
  ["eight MiB, as it says", [LONGEST], LONGEST, LONGEST],
  ["eight MiB that say nothing", [1, LONGEST - 1], undefined, LONGEST],
  ["one that says that it is longer", [1], LONGEST + 1, undefined],
  ["one that is longer", [LONGEST, 1], undefined, undefined],
  ["one that is longer than it says", [LONGEST, 1], 1, undefined],
])("of %s", async (_, pieces, said, read) => {
  expect((await bodyOf(messageOf(pieces, said)))?.length).toBe(read);
});

test("all that has not come in whole is bounded, and what has is forgotten", async () => {
  const pending = { bytes: 8 * LONGEST - 2 };
  expect(await bodyOf(messageOf([1, 1]), pending)).toHaveLength(2);
  expect(await bodyOf(messageOf([1, 2]), pending)).toBeUndefined();
  expect(pending.bytes).toBe(8 * LONGEST - 2);
});

test("a connection is bounded in time, and so are all of them in number", async () => {
  const server = await listen({ host: "127.0.0.1", port: 0, tls: undefined }, () => Promise.resolve("malformed"));
  onTestFinished(() => void server.close());
  const { requestTimeout, headersTimeout, keepAliveTimeout, maxConnections } = server;
  expect({ requestTimeout, headersTimeout, keepAliveTimeout, maxConnections }).toEqual({
    requestTimeout: 10_000,
    headersTimeout: 10_000,
    keepAliveTimeout: 60_000,
    maxConnections: 1_024,
  });
});
