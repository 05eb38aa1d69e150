import { createHmac, timingSafeEqual } from "node:crypto";
import type { Answer, Envelope, Request } from "./messages.ts";
import { isAnswer, isCount, isRecordOf, isRequest, isText } from "./message-shapes.ts";
import { areNames } from "./roster.ts";

/** So long may a packet be, in bytes; a longer one is dropped before it is read. */
export const MAX_PACKET_BYTES: number = 8 * 1024 * 1024;

/** What all messages of one packet have in common. */
export type Header = Omit<Envelope<unknown>, "content">;

/** What goes over the network at once: messages from one start of a server to one start of another. */
export interface Packet<Content> extends Header {
  /** Rises with each packet of a start: it is taken once, and its answer bears it as well. */
  readonly id: number;
  /** All servers that the sender knows of, so that a difference can be named. */
  readonly servers: readonly string[];
  /** Empty where the sender only asks who is there. */
  readonly contents: readonly Content[];
}

/** Why the messages of a packet were not looked at; the receiver says so in a packet that is signed as well. */
export type Refusal = "lists" | "start" | "replay" | "misdirected";

const REFUSALS: ReadonlySet<unknown> = new Set<Refusal>(["lists", "start", "replay", "misdirected"]);

/** The answer to a packet. */
export interface Reply extends Packet<Answer | null> {
  readonly isReply: true;
  readonly refused?: Refusal | undefined;
}

/** Signs and checks what servers send one another, by the secret that they share. */
export class Seal {
  readonly #secret: string;

  constructor(secret: string) {
    this.#secret = secret;
  }

  sign(body: string | Buffer): string {
    return createHmac("sha256", this.#secret).update(body).digest("hex");
  }

  /** Takes as long for a signature that is nearly right as for any other. */
  isOurs(body: Buffer, signature: unknown): boolean {
    const expected = Buffer.from(this.sign(body));
    const given = Buffer.from(typeof signature === "string" ? signature : "");
    return given.length === expected.length && timingSafeEqual(given, expected);
  }
}

/** Reads a packet of requests; undefined where it is none. */
export function packetOf(body: Buffer): Packet<Request> | undefined {
  const packet = parsed(body);
  return packet && !("isReply" in packet) && packet.contents.every(isRequest) ? (packet as Packet<Request>) : undefined;
}

/** Reads the answer to a packet; undefined where it is none. */
export function replyOf(body: Buffer): Reply | undefined {
  const reply = parsed(body) as Reply | undefined;
  if (reply?.isReply !== true || (reply.refused !== undefined && !REFUSALS.has(reply.refused))) return undefined;
  return reply.contents.every((content) => content === null || isAnswer(content)) ? reply : undefined;
}

const HEADER = { cluster: isText, from: isText, to: isText, start: isText, writes: isCount, seen: isCount, id: isCount };

function parsed(body: Buffer): Packet<unknown> | undefined {
  try {
    const packet = JSON.parse(body.toString()) as Packet<unknown>;
    const isOne =
      isRecordOf(packet, HEADER) &&
      (packet.toStart === undefined || isText(packet.toStart)) &&
      areNames(packet.servers) &&
      Array.isArray(packet.contents);
    return isOne ? packet : undefined;
  } catch {
    return undefined;
  }
}
