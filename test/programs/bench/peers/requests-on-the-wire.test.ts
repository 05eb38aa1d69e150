import { expect, test } from "vitest";
import { dataFrames, httpRequests, postgresQueries, redisCommands } from "./requests-on-the-wire.ts";

test("a request of HTTP begins with its line, and a body that comes by itself is none", () => {
  expect(httpRequests(Buffer.from('POST /a?b HTTP/1.1\r\nHost: x\r\n\r\n{"GET / HTTP/1.1":1}'))).toBe(1);
  expect(httpRequests(Buffer.from('{"a":1}'))).toBe(0);
});

test("commands of Redis are counted each, also where several come at once", () => {
  const get = "*2\r\n$3\r\nGET\r\n$1\r\na\r\n";
  expect(redisCommands(Buffer.from(get))).toBe(1);
  expect(redisCommands(Buffer.from(get + get))).toBe(2);
  expect(redisCommands(Buffer.from("$5\r\n*text\r\n"))).toBe(0);
});

test("a query of PostgreSQL is counted by its Sync, and a start of a connection is none", () => {
  const sync = "S\0\0\0\u0004";
  expect(postgresQueries(Buffer.from(`P\0\0\0\u0009a${sync}`))).toBe(1);
  expect(postgresQueries(Buffer.from(`P...${sync}P...${sync}`))).toBe(2);
  expect(postgresQueries(Buffer.from("\0\0\0\u0008\u0004\u00d2\u0016\u002f", "latin1"))).toBe(0);
});

test("messages of gRPC are counted by their frames, beside pings, windows and empty ends of streams", () => {
  const frame = (type: number, length: number): Buffer =>
    Buffer.concat([Buffer.from([0, 0, length, type, 0, 0, 0, 0, 1]), Buffer.alloc(length)]);
  const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  expect(dataFrames(Buffer.concat([preface, frame(4, 6), frame(1, 20), frame(0, 7)]))).toBe(1);
  expect(dataFrames(Buffer.concat([frame(0, 7), frame(8, 4), frame(0, 9)]))).toBe(2);
  expect(dataFrames(Buffer.concat([frame(6, 8), frame(0, 0)]))).toBe(0);
});
