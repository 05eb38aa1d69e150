/**
 * Functions that count how many requests begin in a piece of data from a client, by its protocol. Each client sends the head of a
 * request in one piece.
 */

/** Counts requests of HTTP/1.1. */
export function httpRequests(bytes: Buffer): number {
  return /^[A-Z]+ \/\S* HTTP\/1/.test(bytes.toString("latin1")) ? 1 : 0;
}

/** Counts commands of Redis's RESP. They are arrays, and may follow one another. */
export function redisCommands(bytes: Buffer): number {
  return bytes.toString("latin1").match(/(?<=^|\r\n)\*\d+\r\n\$/g)?.length ?? 0;
}

/** Counts PostgreSQL's extended queries, each of which ends with Sync. */
export function postgresQueries(bytes: Buffer): number {
  return bytes.toString("latin1").split("S\0\0\0\u0004").length - 1;
}

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const FRAME_HEAD = 9;

/** Counts messages of gRPC. Each is a DATA frame of HTTP/2. */
export function dataFrames(bytes: Buffer): number {
  let frames = 0;
  let at = bytes.toString("latin1", 0, PREFACE.length) === PREFACE ? PREFACE.length : 0;
  for (; at + FRAME_HEAD <= bytes.length; at += FRAME_HEAD + bytes.readUIntBE(at, 3)) {
    const [length, type] = [bytes.readUIntBE(at, 3), bytes[at + 3]];
    if (type === 0 && length > 0) frames += 1;
  }
  return frames;
}
