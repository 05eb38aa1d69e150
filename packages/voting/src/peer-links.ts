import type { Clock } from "@leasehold/core/provider";
import type { Envelope, Request, VoterReply } from "./messages.ts";
import type { Pace } from "./pace.ts";
import { clusterOf } from "./roster.ts";

/** Carries messages between this server and the others. */
export interface Transport {
  /** Resolves with the receiver's answer. Rejects if no answer comes in time, or none that can be trusted. */
  send(message: Envelope<Request>, timeoutMs: number): Promise<Envelope<VoterReply>>;
  /** Begins to receive messages for this start of the server. `receive` resolves with undefined if no answer is to be sent. */
  listen(receive: (message: Envelope<Request>) => Promise<Envelope<VoterReply> | undefined>, start: string): Promise<void>;
  close(): Promise<void>;
}

/** The requests whose answers are held, or wait for a sync. Their times do not measure the round trip. */
const WAITS: ReadonlySet<Request["kind"]> = new Set(["ELECT", "RELEASE", "BREAK", "TRANSFER"]);

export interface PeerLinksOptions {
  readonly name: string;
  readonly others: readonly string[];
  readonly clock: Clock;
  readonly transport: Transport;
  readonly pace: Pace;
  /** The counter of the latest write of this server that is certainly on its disk. */
  readonly written: () => number;
  /** Called with the highest write counter of this server that another one knows. */
  readonly onRemembered: (writes: number) => void;
  /** Called with another server's name when its present start is heard of for the first time. */
  readonly onStarted: (other: string) => void;
}

/**
 * The messages between this start of a server and the present starts of the others. A message for an earlier start is ignored.
 */
export class PeerLinks {
  readonly start: string;
  /** The highest write counter heard from each other server. */
  readonly seen: Map<string, number> = new Map();
  readonly #options: PeerLinksOptions;
  readonly #cluster: string;
  /** The latest known start of each other server, and how often that start has changed. */
  readonly #starts = new Map<string, string>();
  readonly #restarts = new Map<string, number>();
  /** The highest write counter of this server that each other one knows. */
  readonly #remembered = new Map<string, number>();

  constructor(options: PeerLinksOptions) {
    this.#options = options;
    this.#cluster = clusterOf([options.name, ...options.others]);
    this.start = options.clock.randomUuid();
  }

  rememberedBy(name: string): number {
    return this.#remembered.get(name) ?? 0;
  }

  /** Asks another server. See {@link Electorate.ask}. */
  async ask(to: string, request: Request, timeoutMs: number, isOver?: () => boolean): Promise<VoterReply> {
    const answer = await this.send(to, request, timeoutMs);
    if (answer) return answer;
    // The server was started again meanwhile, and its present start is known now.
    if (isOver?.()) throw new Error(`${to} was started again, and ${request.kind} is not sent again.`);
    const again = await this.send(to, request, timeoutMs);
    if (again) return again;
    throw new Error(`${to} was started again and again.`);
  }

  /** Resolves with undefined if the receiver was started again, before the request arrived or while it was under way. */
  async send(to: string, content: Request, timeoutMs: number): Promise<VoterReply | undefined> {
    const { name, clock, transport, pace } = this.#options;
    const toStart = this.#starts.get(to);
    const restarts = this.#restarts.get(to);
    const sentMs = clock.monotonicMs();
    const answer = await transport.send(this.envelope(to, toStart, content), timeoutMs);
    if (answer.cluster !== this.#cluster || answer.from !== to || answer.to !== name) {
      throw new Error(`The answer is not ${to}'s to ${name}.`);
    }
    if (answer.toStart !== this.start) throw new Error("The answer is to an earlier start.");
    if (!WAITS.has(content.kind)) pace.answered(to, clock.monotonicMs() - sentMs);
    const wasRestarted = this.#restarts.get(to) !== restarts;
    // The reply is from an earlier start, so its write counter is not recorded. The present start need not know that write.
    if (wasRestarted && answer.start === toStart) return undefined;
    this.meet(answer);
    // The server was started again after it replied. Its present start may not know this reply.
    if (wasRestarted) return undefined;
    return toStart === answer.start || isOfNoStart(content) ? answer.content : undefined;
  }

  envelope<Content>(to: string, toStart: string | undefined, content: Content): Envelope<Content> {
    const { name, written } = this.#options;
    const seen = this.seen.get(to) ?? 0;
    return { cluster: this.#cluster, from: name, to, start: this.start, toStart, writes: written(), seen, content };
  }

  /** Reports whether a message is from another server with the same list to this one. */
  isToThisServer({ cluster, from, to }: Envelope<Request>): boolean {
    const { name, others } = this.#options;
    return cluster === this.#cluster && to === name && others.includes(from);
  }

  /** A request that names no start of the receiver may be older than this start. Its sender only learns the present start. */
  isToThisStart({ toStart, content }: Envelope<Request>): boolean {
    return toStart === this.start || (toStart === undefined && isOfNoStart(content));
  }

  /** Records what a message says about its sender, and what the sender remembers of this server. */
  meet({ from, start, writes, seen }: Envelope<unknown>): void {
    const known = this.#starts.get(from);
    if (known !== undefined && known !== start) this.#restarts.set(from, (this.#restarts.get(from) ?? 0) + 1);
    this.#starts.set(from, start);
    if (known !== start) this.#options.onStarted(from);
    this.seen.set(from, Math.max(this.seen.get(from) ?? 0, writes));
    this.#remembered.set(from, Math.max(this.rememberedBy(from), seen));
    this.#options.onRemembered(seen);
  }
}

/** Reports whether any start of the receiver may answer the request. */
function isOfNoStart({ kind }: Request): boolean {
  return kind === "TELL" || kind === "PING";
}
