import type { Clock } from "@leasehold/core/provider";
import type { VoterReply, Envelope, Request } from "./messages.ts";

/** The most packets to one server that are under way at once. Later messages wait, and share one packet. */
const PACKETS = 4;
/** Answers to trials are held. So trials travel in packets of their own, and no heartbeat waits for them. */
const TRIAL_PACKETS = 16;
/** The most messages of one packet, and about the most characters that they may have together. */
const MOST_MESSAGES = 256;
const MOST_CHARACTERS = 1_000_000;

interface Waiting {
  readonly message: Envelope<Request>;
  readonly settle: (answer: Envelope<VoterReply> | Error) => void;
  isOver: boolean;
}

/** Sends messages from one server to another one as a packet; see {@link Outbox}. */
export type SendPacket = (
  messages: readonly Envelope<Request>[],
  signal: AbortSignal,
) => Promise<ReadonlyArray<Envelope<VoterReply> | undefined>>;

/**
 * The messages to one other server. The first ones are sent at once. Messages that come while `PACKETS` packets are under way
 * share the next one. So a thousand elections take no more connections than one.
 */
export class Outbox {
  readonly #clock: Clock;
  readonly #send: SendPacket;
  readonly #lanes = { trials: new Lane(TRIAL_PACKETS), others: new Lane(PACKETS) };

  constructor(clock: Clock, send: SendPacket) {
    this.#clock = clock;
    this.#send = send;
  }

  async send(message: Envelope<Request>, timeoutMs: number): Promise<Envelope<VoterReply>> {
    const isTrial = message.content.kind === "ELECT" && message.content.trial;
    const lane = isTrial ? this.#lanes.trials : this.#lanes.others;
    return await new Promise((resolve, reject) => {
      const waiting: Waiting = {
        message,
        isOver: false,
        settle: (answer) => {
          timer.cancel();
          waiting.isOver = true;
          if (answer instanceof Error) reject(answer);
          else resolve(answer);
        },
      };
      const late = (): void => {
        waiting.settle(new Error(`${message.to} does not answer in time.`));
        lane.gaveUp();
      };
      const timer = this.#clock.setTimer(late, timeoutMs);
      lane.waiting.push(waiting);
      queueMicrotask(() => lane.send(this.#send));
    });
  }
}

class Lane {
  waiting: Waiting[] = [];
  readonly #limit: number;
  readonly #underWay = new Set<{ readonly messages: readonly Waiting[]; readonly abort: AbortController }>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Called when a message has timed out. Aborts each packet of which all messages are over. */
  gaveUp(): void {
    for (const { messages, abort } of this.#underWay) if (messages.every(({ isOver }) => isOver)) abort.abort();
  }

  send(sendPacket: SendPacket): void {
    while (this.#underWay.size < this.#limit) {
      const messages = this.#next();
      if (messages.length === 0) return;
      const packet = { messages, abort: new AbortController() };
      this.#underWay.add(packet);
      void this.#carry(packet, sendPacket).finally(() => {
        this.#underWay.delete(packet);
        this.send(sendPacket);
      });
    }
  }

  async #carry(packet: { messages: readonly Waiting[]; abort: AbortController }, sendPacket: SendPacket): Promise<void> {
    const { messages, abort } = packet;
    try {
      const answers = await sendPacket(
        messages.map(({ message }) => message),
        abort.signal,
      );
      for (const [index, { settle, message }] of messages.entries()) {
        settle(answers[index] ?? new Error(`${message.to} has no answer to ${message.content.kind}.`));
      }
    } catch (error) {
      for (const { settle } of messages) settle(error as Error);
    }
  }

  /** Takes the messages of the next packet. All of them are for one incarnation of the receiver: their `toStart` is equal. */
  #next(): readonly Waiting[] {
    this.waiting = this.waiting.filter(({ isOver }) => !isOver);
    const [first] = this.waiting;
    let characters = 0;
    const end = this.waiting.findIndex(({ message }, index) => {
      characters += JSON.stringify(message.content).length;
      const isTooMuch = index >= MOST_MESSAGES || (index > 0 && characters > MOST_CHARACTERS);
      return isTooMuch || message.toStart !== first?.message.toStart;
    });
    return this.waiting.splice(0, end < 0 ? this.waiting.length : end);
  }
}
