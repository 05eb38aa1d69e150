import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { VoterReply, Envelope, Request } from "./messages.ts";
import { areTexts, isAnswer, isCount, isRecordOf, isRequest, isText } from "./message-shapes.ts";

/** The most bytes of a packet. A longer one is dropped before it is read. */
export const MAX_PACKET_BYTES: number = 8 * 1024 * 1024;

/** The fields that are the same for all messages of one packet. */
export type Header = Omit<Envelope<unknown>, "content">;

/** Messages that travel together, from one start of a server to one start of another. */
export interface Packet<Content> extends Header {
  /** Rises with each packet of a start. A packet is accepted once, and its answer has the same id. */
  readonly id: number;
  /** All servers that the sender knows, so that a difference can be named. */
  readonly servers: readonly string[];
  /** Empty if the sender only asks which start is there. */
  readonly contents: readonly Content[];
}

/** The reason for which a packet was refused, and its messages were not read. The receiver says so in a signed packet. */
export type Refusal = "lists" | "start" | "replay" | "misdirected";
const REFUSALS: ReadonlySet<unknown> = new Set<Refusal>(["lists", "start", "replay", "misdirected"]);

/** The answer to a packet. */
export interface Reply extends Packet<VoterReply | null | undefined> {
  readonly isReply: true;
  readonly refused?: Refusal | undefined;
}

/** One secret, or several of which the first signs and all are accepted. */
export type Secret = string | readonly string[];

/** Signs and checks the messages between servers, by the secret that they share. */
export class Seal {
  readonly #secrets: readonly string[];

  constructor(secret: Secret) {
    this.#secrets = typeof secret === "string" ? [secret] : secret;
  }

  /**
   * Returns the digest of a body, and a signature of the digest and the length. So a receiver can check the signature before it
   * reads the body.
   */
  sign(body: string | Buffer): string {
    const digest = digestOf(body);
    return `${digest}.${signatureOf(this.#secrets[0] ?? "", digest, Buffer.byteLength(body))}`;
  }

  /** Reports whether somebody with the secret has signed a body of that length. Compares in constant time. */
  isPromised(signature: unknown, length: number): boolean {
    const [digest = "", given = ""] = typeof signature === "string" ? signature.split(".") : [];
    return this.#secrets.some((secret) => isEqual(given, signatureOf(secret, digest, length)));
  }

  isOurs(body: Buffer, signature: unknown): boolean {
    return this.isPromised(signature, body.length) && isEqual((signature as string).split(".")[0] ?? "", digestOf(body));
  }
}

function signatureOf(secret: string, digest: string, length: number): string {
  return createHmac("sha256", secret).update(`${digest}.${length}`).digest("hex");
}

function digestOf(body: string | Buffer): string {
  return createHash("sha256").update(body).digest("hex");
}

function isEqual(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}

/**
 * Reads a packet of requests; undefined if it is none. A message that this version does not know becomes undefined. The others of
 * the packet still count, so that servers of two versions work together.
 */
export function packetOf(body: Buffer): Packet<Request | undefined> | undefined {
  const packet = parsed(body);
  if (!packet || "isReply" in packet) return undefined;
  return { ...packet, contents: packet.contents.map((content) => (isRequest(content) ? content : undefined)) };
}

/** Reads the answer to a packet, in the same way. */
export function replyOf(body: Buffer): Reply | undefined {
  const reply = parsed(body) as Reply | undefined;
  if (reply?.isReply !== true || (reply.refused !== undefined && !REFUSALS.has(reply.refused))) return undefined;
  return { ...reply, contents: reply.contents.map((content) => (content === null || isAnswer(content) ? content : undefined)) };
}

const HEADER = { cluster: isText, from: isText, to: isText, start: isText, writes: isCount, seen: isCount, id: isCount };

function parsed(body: Buffer): Packet<unknown> | undefined {
  try {
    const packet = JSON.parse(body.toString()) as Packet<unknown>;
    const isOne =
      isRecordOf(packet, HEADER) &&
      (packet.toStart === undefined || isText(packet.toStart)) &&
      areTexts(packet.servers) &&
      Array.isArray(packet.contents);
    return isOne ? packet : undefined;
  } catch {
    return undefined;
  }
}
